"""Containers on machines with a bare Python and nothing else: all they need travels with the topology."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import SCHEDULER
from support.schedulers import elsewhere

from heronpy.container.watchdog.watchdog_process import MODULE as WATCHDOG

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

TUPLES = 20_000
TRICKLE = (str(TOPOLOGIES / "trickle.py"), "Trickle")

FAR = """
import beside, helper
from heronpy import Spout, Topology

class Speaker(Spout):
    outputs = ["word"]
    def initialize(self, config, context):
        with open("{path}.new", "w") as file:
            file.write(f"{{helper.WORD}} {{beside.NUMBER}} {{beside.__file__}}")
        import os
        os.rename("{path}.new", "{path}")
    def next_tuple(self):
        pass

class Far(Topology):
    speaker = Speaker.spec()
"""


class Elsewhere:
    """Another machine, played by this one: its disk, its Python, and what a user must say to use it."""

    def __init__(self, engine: Engine, servers: ZooKeeper, folder: Path, disk: Path, python: Path) -> None:
        self.engine = engine
        self.servers = servers
        self.root = servers.fresh_root()
        self.disk = disk
        search = elsewhere.install(folder / "plugin")
        # what the user's own code needs must travel, too
        self.code = folder / "code"
        (self.code / "helper").mkdir(parents=True)
        (self.code / "helper" / "__init__.py").write_text("WORD = 'far'\n")
        engine.environment["PYTHONPATH"] = f"{search}:{self.code}"
        settings = {
            **servers.settings(self.root),
            "scheduler.name": "elsewhere",
            "state.zookeeper.session": "6s",
        }
        for key, value in settings.items():
            engine.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value
        plugin = {"folder": str(self.disk), "python": str(python)}
        named = [f"plugins.elsewhere.{key}={value}" for key, value in plugin.items()]
        self.flags = [word for setting in named for word in ("--set", setting)]

    def submit(self, *words: str) -> None:
        self.engine.ok("submit", *words, *self.flags)

    def processes(self) -> dict[str, psutil.Process]:
        """Those over there, by their names."""
        found = {}
        for process in psutil.process_iter():
            try:
                if str(self.disk) in " ".join(process.environ().values()):
                    found[_name(process)] = process
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def here(self, module: str) -> list[int]:
        """Processes of this module on the machine that submitted."""
        found = []
        for process in self.engine.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # zombies as well
                if module in process.cmdline():
                    found.append(process.pid)
        return found

    def left(self) -> list[str]:
        """All that should be gone with the topology, here and there."""
        there = [str(path) for path in (self.disk / "tmp").glob("*")]
        here = [str(path) for path in (self.engine.home / "uploads").glob("[!.]*")]
        return [*there, *here, *self.processes(), *self.engine.leftovers(), *self.servers.nodes(self.root)]

    def what_is_left(self) -> str:
        """… with the last lines of the logs among it."""
        logs = [path for path in (self.disk / "tmp").glob("*/**/*.log") if path.is_file()]
        tails = "".join(f"\n{path}:\n{path.read_text()[-2000:]}" for path in logs)
        return f"{self.left()}{tails}"


def _name(process: psutil.Process) -> str:
    words = process.cmdline()
    return f"container {words[-1]}" if "heronpy.container.remote.remote_start" in words else process.name()


@pytest.fixture
def there(
    engine: Engine, zookeeper: ZooKeeper, tmp_path: Path, temporary: Path, bare_python: Path
) -> Iterator[Elsewhere]:
    # sockets lie below it, so its path must be short
    disk = Path(tempfile.mkdtemp(dir=temporary))
    made = Elsewhere(engine, zookeeper, tmp_path, disk, bare_python)
    yield made
    engine.run("kill", "--all")
    assert made.left() == []
    shutil.rmtree(disk)


def test_a_topology_runs_where_nothing_is_installed(there: Elsewhere, tmp_path: Path) -> None:
    there.submit(str(TOPOLOGIES / "ledger.py"), str(TUPLES), str(tmp_path))
    wait_until(lambda: _written(tmp_path) >= 2 * TUPLES, 60, "all tuples", there.engine.log_tails)

    assert set(_arrived(tmp_path).values()) == {1}
    assert len(_arrived(tmp_path)) == 2 * TUPLES
    status = there.engine.status("LedgerTopology")
    assert status["state"] == "RUNNING"
    assert {process.exe() for process in there.processes().values()} == {os.path.realpath(sys.executable)}
    there.engine.ok("kill", "LedgerTopology")
    assert there.left() == []


def kill_and_wait_for_another(there: Elsewhere, module: str) -> None:
    wait_until(lambda: len(there.here(module)) == 1, 30, f"there is one {module}")
    (victim,) = there.here(module)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: there.here(module) not in ([], [victim]), 30, f"there is another {module}")


def test_whoever_dies_of_those_who_keep_each_other_alive_is_started_again(there: Elsewhere) -> None:
    there.submit(*TRICKLE)
    before = {name: process.pid for name, process in there.processes().items()}
    for module in (SCHEDULER, WATCHDOG, SCHEDULER):
        kill_and_wait_for_another(there, module)
    wait_until(lambda: "scheduler" not in there.engine.run("status", "Trickle").stderr, 30, "it is at work")
    assert {name: process.pid for name, process in there.processes().items()} == before
    there.engine.ok("kill", "Trickle")
    wait_until(lambda: there.left() == [], 15, "nothing is left", there.what_is_left)


def test_modules_beside_the_file_and_on_the_path_travel(there: Elsewhere, tmp_path: Path) -> None:
    file = tmp_path / "project" / "far.py"
    file.parent.mkdir()
    (file.parent / "beside.py").write_text("NUMBER = 7\n")
    file.write_text(FAR.format(path=tmp_path / "found"))
    there.submit(str(file))
    wait_until(lambda: (tmp_path / "found").exists(), 30, "the spout has spoken", there.engine.log_tails)
    word, number, where = (tmp_path / "found").read_text().split()
    assert (word, number) == ("far", "7")
    assert where.startswith(str(there.disk))


def test_state_needs_a_place_that_all_machines_see(there: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "brake").write_text("0.1")
    words = (str(TOPOLOGIES / "live_words.py"), "ATMOST_ONCE", "100", "0", str(tmp_path))
    there.submit(*words)
    wait_until(lambda: all(_kept(there.engine)), 30, "all counters keep something", there.engine.log_tails)
    complaint = there.engine.fails("update", "LiveWords", "count=3")
    assert "] has state to hand over, and its machines have no checkpoint store in common" in complaint
    assert "no checkpoint store" in there.engine.fails("restart", "LiveWords", "1")
    assert "no checkpoint store" in there.engine.fails("checkpoints", "LiveWords", "--take")
    there.engine.ok("kill", "LiveWords")

    there.submit(*words, "--set", f"checkpoint.path={tmp_path / 'saved'}")
    assert "0 tuples lost" in there.engine.ok("update", "LiveWords", "count=3", "words=3", "--yes")
    complaint = there.engine.fails(
        "submit", words[0], "EFFECTIVELY_ONCE", *words[2:], "--name", "Other", *there.flags
    )
    assert "--set checkpoint.path=" in complaint


def test_other_machines_need_a_state_tree_that_they_see(there: Elsewhere) -> None:
    complaint = there.engine.fails("submit", *TRICKLE, *there.flags, "--state", "localfs")
    assert "which do not see the state manager 'localfs' (try: --state zookeeper" in complaint


def _kept(engine: Engine) -> list[int]:
    instances = engine.status("LiveWords")["instances"]
    return [one["held"]["keyed"] for one in instances if one["component"] == "count"]


def _written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger-*")) // 12


def _arrived(folder: Path) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for path in folder.glob("ledger-*"):
        data = path.read_bytes()
        found.update(data[at : at + 8] for at in range(0, len(data), 12))
    return found
