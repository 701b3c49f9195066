"""Where the sockets of a topology are: a folder that no other account can have made, or can exchange."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, as_stranger, shared_folder
from support.suite.needs import needs_second_account

from heronpy.container import folders
from heronpy.container.folders import create_launch, make_sockets_folder, renew_sockets
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine import private
from heronpy.kernel.machine.private import PLACE_BYTES


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder as a machine has it: every account may write to it."""
    with shared_folder() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture
def runtime(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = shared / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


def sockets_of(path: Path) -> Path:
    return Path(TopologyLaunch.read(path).sockets)


def test_every_launch_has_a_private_folder_with_a_name_that_says_nothing(
    config: Config, shared: Path
) -> None:
    path = create_launch(config, "t")
    first = TopologyLaunch.read(path)
    second = TopologyLaunch.read(create_launch(config, "t"))
    for launch in (first, second):
        folder = Path(launch.sockets)
        assert folder.parent == shared
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert launch.execution not in folder.name
    assert first.sockets != second.sockets


def test_the_runtime_folder_of_the_account_is_taken(config: Config, runtime: Path) -> None:
    assert sockets_of(create_launch(config, "t")).parent == runtime


def test_a_runtime_folder_that_will_not_do_is_passed_over(
    config: Config, shared: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.chmod(0o755)
    assert sockets_of(create_launch(config, "open")).parent == shared
    runtime.chmod(0o700)
    (shared / "link").symlink_to(runtime)
    (runtime / ("x" * PLACE_BYTES)).mkdir(mode=0o700)
    for unusable in ("", "relative", shared / "missing", shared / "link", runtime / ("x" * PLACE_BYTES)):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(unusable))
        assert sockets_of(create_launch(config, "other")).parent == shared


def test_a_runtime_folder_that_goes_with_the_last_session_is_passed_over(
    config: Config, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LINGERING", shared / "linger")
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    assert sockets_of(create_launch(config, "t")).parent == shared


def test_without_a_safe_place_there_is_one_line(
    config: Config, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "PLACE_BYTES", 3)
    with pytest.raises(UserError, match=r"^no safe folder for sockets: /tmp .*\(try: set TMPDIR to a folder"):
        create_launch(config, "t")
    assert list(shared.iterdir()) == []


def test_a_folder_that_is_there_and_private_stays_for_containers_that_live(
    config: Config, shared: Path
) -> None:
    path = create_launch(config, "t")
    before = path.read_bytes()
    renew_sockets(path)
    assert path.read_bytes() == before
    assert list(shared.iterdir()) == [sockets_of(path)]


@pytest.mark.usefixtures("shared")
def test_after_a_reboot_the_folder_has_another_name(config: Config) -> None:
    path = create_launch(config, "t")
    first = TopologyLaunch.read(path)
    Path(first.sockets).rmdir()

    renew_sockets(path)

    second = TopologyLaunch.read(path)
    assert second.sockets != first.sockets
    assert stat.S_IMODE(Path(second.sockets).stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert second.execution == first.execution
    assert second.config == first.config


@pytest.mark.usefixtures("shared")
def test_containers_on_other_machines_need_none_here(config: Config) -> None:
    path = create_launch(config, "t", remote=True)
    renew_sockets(path)
    assert TopologyLaunch.read(path).sockets == ""


def test_a_folder_that_another_account_made_first_is_neither_used_nor_filled(
    config: Config, shared: Path
) -> None:
    needs_second_account()
    path = create_launch(config, "t")
    launch = TopologyLaunch.read(path)
    trap = Path(launch.sockets)
    trap.rmdir()
    as_stranger("mkdir", "-m", "777", launch.sockets, f"{launch.sockets}/1")

    with pytest.raises(
        UserError,
        match=f"{trap} belongs to user {STRANGER}, .*try: heronpy kill t, and submit it again",
    ):
        make_sockets_folder(launch, 1)
    renew_sockets(path)

    assert sockets_of(path) != trap
    make_sockets_folder(TopologyLaunch.read(path), 1)
    assert sorted(each.name for each in trap.rglob("*")) == ["1"]
    assert {each.stat().st_uid for each in shared.iterdir() if each != trap} == {0}


def test_a_home_of_another_account_is_refused(shared: Path) -> None:
    needs_second_account()
    as_stranger("mkdir", "-m", "777", str(shared / "home"))
    config = load_config(os.devnull, environ={}, flags={"home": str(shared / "home")})
    with pytest.raises(UserError, match=rf"home belongs to user {STRANGER}.*\(try: set `home` to a folder"):
        create_launch(config, "t")
    assert list((shared / "home").iterdir()) == []
