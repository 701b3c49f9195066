"""Another account on the machine makes folders before we do; and a careless umask of our own."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, as_stranger, opened_by_stranger, shared_folder
from support.running.engine import TOPOLOGIES, Engine, end_all, wait_until
from support.suite.needs import needs_second_account

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import HeronError, StoreError, UploadError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plugin import CheckpointStore, Uploader
from heronpy.kernel.plugin.opening import open_checkpoint_store, open_uploader


@pytest.fixture
def shared() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


def sockets_of(engine: Engine, name: str) -> Path:
    return Path(TopologyLaunch.read(engine.home / "topologies" / name / "launch.json").sockets)


@pytest.mark.cluster
def test_a_sockets_folder_that_another_account_makes_after_a_reboot_is_not_used(
    engine: Engine, shared: Path
) -> None:
    needs_second_account()
    engine.environment["TMPDIR"] = str(shared)
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "rebooted")
    trap = sockets_of(engine, "rebooted")
    assert trap.parent == shared
    end_all(engine)
    shutil.rmtree(trap)
    as_stranger("mkdir", "-m", "777", str(trap), f"{trap}/0", f"{trap}/1")

    assert "started again" in engine.run("restart", "rebooted", "0").stderr

    wait_until(lambda: engine.status("rebooted")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    chosen = sockets_of(engine, "rebooted")
    assert chosen != trap
    assert chosen.parent == shared
    assert sorted(str(path.relative_to(trap)) for path in trap.rglob("*")) == ["0", "1"]
    assert {path.stat().st_uid for path in chosen.rglob("*")} == {0}
    assert (
        f"{trap} belongs to user {STRANGER}"
        in (engine.home / "topologies/rebooted/logs/scheduler.log").read_text()
    )
    engine.ok("kill", "rebooted")
    assert engine.leftovers() == []
    assert list(shared.iterdir()) == [trap]


@pytest.mark.cluster
def test_sockets_are_in_the_runtime_folder_of_the_account(engine: Engine, shared: Path) -> None:
    runtime = shared / "run"
    runtime.mkdir(mode=0o700)
    engine.environment |= {"TMPDIR": str(shared), "XDG_RUNTIME_DIR": str(runtime)}
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "placed")
    assert list(runtime.iterdir()) == [sockets_of(engine, "placed")]
    engine.ok("kill", "placed")
    assert list(runtime.iterdir()) == []
    assert list(shared.iterdir()) == [runtime]


@pytest.mark.cluster
def test_nothing_is_open_to_others_under_a_careless_umask(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home", front=("sh", "-c", 'umask 000; exec "$@"', "sh"))
    out, name = tmp_path / "out", "ExactlyOnce"
    words = str(TOPOLOGIES / "exactly_once.py"), "files", str(out), "100000", "1000"
    try:
        engine.ok("submit", *words, "--set", "metrics.sinks=jsonl,prometheus")
        metrics = engine.home / "topologies" / name / "metrics"
        wait_until(lambda: any(out.glob("*.txt")), 60, "a commit", engine.log_tails)
        wait_until(lambda: any(metrics.glob("*.jsonl")), 60, "metrics", engine.log_tails)
        end_all(engine)  # what is there does not change any more
        sockets = sockets_of(engine, name)
        private = [path for folder in (engine.home, sockets) for path in (folder, *folder.rglob("*"))]
        assert open_to_others(private, 0o077) == {}
        assert open_to_others([out, *out.rglob("*")], 0o022) == {}
        assert stat.S_IMODE((out / ".uncommitted").stat().st_mode) == 0o700
        engine.ok("kill", name)
        assert engine.leftovers() == []
    finally:
        engine.close()


#: what another account makes in a folder that all accounts share, at the path that we are about to use
TRAPS: Mapping[str, tuple[str, ...]] = {
    "a folder that all may write to": ("mkdir", "-m", "777"),
    "a sticky folder": ("mkdir", "-m", "1777"),
    "a folder of its own": ("mkdir", "-m", "755"),
    "a link to a folder of ours": ("ln", "-s", "../ours"),
    "a link that leads nowhere": ("ln", "-s", "nowhere"),
}


@pytest.mark.parametrize("setting", ["upload.path", "checkpoint.path"])
@pytest.mark.parametrize("trap", TRAPS)
def test_a_folder_that_another_account_made_first_is_not_used(shared: Path, trap: str, setting: str) -> None:
    needs_second_account()
    chosen = shared / "chosen"
    as_stranger(*TRAPS[trap], str(chosen))
    with pytest.raises(HeronError) as refused:
        opened(setting, chosen)
    (line,) = str(refused.value).splitlines()
    assert f"{chosen} belongs to user {STRANGER}, and you are user 0" in line
    assert [path.name for path in shared.rglob("*")] == ["chosen"]


def opened(setting: str, folder: Path) -> Uploader | CheckpointStore:
    config = load_config(os.devnull, environ={}, flags={setting: str(folder), "home": str(folder / "home")})
    return open_uploader(config) if setting == "upload.path" else open_checkpoint_store(config)


@pytest.mark.parametrize("made", [("mkdir", "-m", "777"), ("ln", "-s", "/tmp"), ("touch",)])
def test_an_object_that_another_account_made_first_is_neither_read_nor_written_nor_removed(
    shared: Path, made: tuple[str, ...]
) -> None:
    """In a sticky folder, which may be chosen, everybody makes what is not there yet."""
    needs_second_account()
    store = opened("checkpoint.path", shared)
    assert isinstance(store, CheckpointStore)
    as_stranger(*made, str(shared / "words"))
    for act in (
        lambda: store.write("words/1/count", [b"state"]),
        lambda: store.read("words/1/count"),
        lambda: store.delete("words/1/count"),
    ):
        with pytest.raises(StoreError, match=rf"^cannot use .*: {shared}/words belongs to user {STRANGER}"):
            act()


@pytest.mark.parametrize("made", [("cp", "/etc/hostname"), ("ln", "-s", "/etc/hostname")])
def test_an_upload_that_another_account_made_first_is_not_taken_for_ours(
    shared: Path, made: tuple[str, ...]
) -> None:
    needs_second_account()
    uploader = opened("upload.path", shared)
    assert isinstance(uploader, Uploader)
    as_stranger(*made, str(shared / "a.pyz"))
    with pytest.raises(UploadError, match=f"a.pyz belongs to user {STRANGER}"):
        uploader.put("a.pyz", "/etc/hostname")


#: what another account puts into a home that was open to all for a while
PLANTED: Mapping[str, tuple[str, ...]] = {
    "topologies": ("mkdir", "-m", "777"),
    "topologies/mine": ("mkdir", "-m", "777"),
    "topologies/mine/logs": ("ln", "-s", "/tmp"),
    "topologies/mine/logs/scheduler.log": ("ln", "-s", "../../../../precious"),
    "topologies/mine/metrics": ("mkdir", "-m", "777"),
    "topologies/mine/metrics/container-1.jsonl": ("ln", "-s", "../../../../precious"),
    "topologies/mine/metrics/prometheus-1.url": ("touch",),
    "checkpoints": ("mkdir", "-m", "777"),
    "uploads": ("mkdir", "-m", "777"),
    "state": ("mkdir", "-m", "777"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_what_another_account_has_put_into_an_open_home_is_not_written_to(shared: Path, planted: str) -> None:
    needs_second_account()
    home, precious = shared / "home", shared / "precious"
    precious.write_text("as it was")
    path = home / planted
    before = os.umask(0)
    try:
        path.parent.mkdir(parents=True)
        as_stranger(*PLANTED[planted], str(path))
        if planted == "uploads":
            with pytest.raises(UploadError) as refused:
                open_uploader(load_config(os.devnull, environ={}, flags={"home": str(home)}))
            said = f"{refused.value}\n"
        else:
            words = (str(TOPOLOGIES / "exactly_once.py"), "files", str(shared / "out"), "10", "10")
            said = Engine(home).fails("submit", *words, "--name", "mine")
    finally:
        os.umask(before)
    assert said.count("\n") == 1
    assert f"{path} belongs to user {STRANGER}, and you are user 0" in said
    assert precious.read_text() == "as it was"
    assert Engine(home).processes() == []


@pytest.mark.cluster
def test_another_account_reads_and_writes_nothing_of_a_running_topology(shared: Path) -> None:
    needs_second_account()
    engine = Engine(shared / "home", front=("sh", "-c", 'umask 000; exec "$@"', "sh"))
    out, name = shared / "out", "ExactlyOnce"
    words = str(TOPOLOGIES / "exactly_once.py"), "files", str(out), "100000", "1000"
    try:
        engine.ok("submit", *words, "--set", "metrics.sinks=jsonl,prometheus")
        work = engine.home / "topologies" / name
        wait_until(lambda: any(out.glob("*.txt")), 60, "a commit", engine.log_tails)
        wait_until(lambda: any(work.glob("metrics/*.jsonl")), 60, "metrics", engine.log_tails)
        ours = [path for path in (engine.home, *engine.home.rglob("*")) if path.exists()]
        kinds = {path.parent.name for path in ours} | {path.suffix for path in ours}
        assert {"logs", "metrics", "checkpoints", ".log", ".jsonl", ".url"} <= kinds
        assert (
            opened_by_stranger([*ours, sockets_of(engine, name), *sockets_of(engine, name).rglob("*")]) == []
        )
        assert opened_by_stranger([shared]) == [str(shared)]
        engine.ok("kill", name)
        assert engine.leftovers() == []
    finally:
        engine.close()


def open_to_others(paths: Iterable[Path], rights: int) -> dict[str, str]:
    """Modes of files and folders with any of these rights; sockets and links are as their folder is."""
    modes = {str(path): path.lstat().st_mode for path in paths}
    return {
        path: oct(mode)
        for path, mode in modes.items()
        if mode & rights and not stat.S_ISSOCK(mode) and not stat.S_ISLNK(mode)
    }
