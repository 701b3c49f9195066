"""Another account on the machine makes folders before we do; and a careless umask of our own."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, as_stranger, shared_folder
from support.running.engine import TOPOLOGIES, Engine, end_all, wait_until
from support.suite.needs import needs_second_account

from heronpy.kernel.launch import TopologyLaunch


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


def open_to_others(paths: Iterable[Path], rights: int) -> dict[str, str]:
    """Modes of files and folders with any of these rights; sockets and links are as their folder is."""
    modes = {str(path): path.lstat().st_mode for path in paths}
    return {
        path: oct(mode)
        for path, mode in modes.items()
        if mode & rights and not stat.S_ISSOCK(mode) and not stat.S_ISLNK(mode)
    }
