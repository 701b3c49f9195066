"""localfs on disks that are full, and in folders that are not ours."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.faults.small_disk import small_disk as small_disk_of

from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin.state_manager import Node, StateManager
from heronpy.plugins.state.localfs.root import open_root

Opener = Callable[[Path], StateManager]


@pytest.fixture
def small_disk() -> Iterator[Path]:
    with small_disk_of(512) as disk:
        yield disk


def test_a_full_disk_is_one_line_and_loses_nothing(small_disk: Path, open_state: Opener) -> None:
    state = open_state(small_disk)
    version = state.create("/t/plan", b"old")
    writes: list[Callable[[], int]] = [
        lambda: state.set("/t/plan", b"x" * 1024 * 1024),
        lambda: state.create("/t/other/deep", b"x" * 1024 * 1024),
    ]
    for write in writes:
        with pytest.raises(StateError) as caught:
            write()
        message = str(caught.value)
        assert message.startswith(f"cannot use the state folder {small_disk}/state: ")
        assert "(try: " in message
        assert "\n" not in message
    assert state.get("/t/plan") == Node(b"old", version)
    assert state.children("/t") == ["plan"]
    assert list((small_disk / "state/@tmp").iterdir()) == []
    state.set("/t/plan", b"new")
    state.close()


def test_a_full_disk_still_lets_ephemeral_nodes_go(small_disk: Path, open_state: Opener) -> None:
    state, other = open_state(small_disk), open_state(small_disk)
    other.create("/t/here", b"", ephemeral=True)
    fill(small_disk)
    other.close()
    assert state.children("/") == []
    state.close()


def test_a_node_changes_on_a_full_disk(small_disk: Path, open_state: Opener) -> None:
    state, other = open_state(small_disk), open_state(small_disk)
    state.create("/t/pulse", b"0", ephemeral=True)
    state.create("/t/plan", b"old")
    if small_disk.is_mount():
        fill(small_disk)
        with pytest.raises(StateError, match="the disk is full"):
            state.create("/t/more", b"")
        with pytest.raises(StateError, match="the disk is full"):
            state.set("/t/plan", b"x" * 5000)
    last = 0
    for number in range(100):
        version = state.set("/t/pulse", str(number).encode())
        assert version > last
        last = version
        assert other.get("/t/pulse") == Node(str(number).encode(), version)
        other.set("/t/plan", b"new" * (number * 10), version=other.get("/t/plan").version)
    assert state.get("/t/plan").value == b"new" * 990
    assert state.children("/t") == ["plan", "pulse"]
    state.close()
    other.close()


def test_the_folder_is_private(open_state: Opener, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    state = open_state(tmp_path)
    state.create("/t/a", b"")
    for found in [tmp_path / "state", *(tmp_path / "state").rglob("*")]:
        assert stat.S_IMODE(found.stat().st_mode) & 0o077 == 0, found


def test_a_missing_home_is_made(open_state: Opener, tmp_path: Path) -> None:
    open_state(tmp_path / "a/b").create("/t", b"")
    assert (tmp_path / "a/b/state/t/@value").exists()


def test_a_file_where_the_folder_should_be(open_state: Opener, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(StateError, match="state is not a folder"):
        open_state(tmp_path)


def test_a_file_where_the_home_should_be(open_state: Opener, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    for home in (tmp_path / "home", tmp_path / "home/below"):
        with pytest.raises(StateError, match=re.escape(f"{home} is not a folder and cannot be made one")):
            open_state(home)


def test_a_link_where_the_folder_should_be(open_state: Opener, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="state is not a folder"):
        open_state(tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
    folder = Path("/")
    if folder.stat().st_uid == os.geteuid():
        folder = tmp_path
        os.chown(folder, 12345, 12345)
    with pytest.raises(StateError, match=r"belongs to user \d+, and you are user \d+ \(try: set `home`"):
        open_root(folder)


def test_a_folder_that_is_removed_while_in_use(open_state: Opener, tmp_path: Path) -> None:
    state = open_state(tmp_path)
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(StateError, match="it was removed while in use"):
        state.create("/t", b"")


def fill(disk: Path) -> None:
    """Write until nothing more fits."""
    try:
        with (disk / "filler").open("wb") as file:
            while True:
                file.write(b"x" * 65536)
                file.flush()
    except OSError:
        return
