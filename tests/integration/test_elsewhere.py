"""Containers on machines with a bare Python and nothing else: all they need travels with the topology."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support import elsewhere
from support.engine import TOPOLOGIES, Engine, wait_until
from support.zookeeper import ZooKeeper

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

TUPLES = 20_000


class Elsewhere:
    """Another machine, played by this one: its disk, its Python, and what a user must say to use it."""

    def __init__(self, engine: Engine, servers: ZooKeeper, folder: Path, python: Path) -> None:
        self.engine = engine
        self.servers = servers
        self.root = servers.fresh_root()
        self.disk = folder / "disk"
        search = elsewhere.install(folder / "plugin")
        # what the user's own code needs must travel, too
        self.code = folder / "code"
        (self.code / "helper").mkdir(parents=True)
        (self.code / "helper" / "__init__.py").write_text("WORD = 'far'\n")
        engine.environment["PYTHONPATH"] = f"{search}:{self.code}"
        settings = {**servers.settings(self.root), "scheduler.name": "elsewhere"}
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

    def left(self) -> list[str]:
        """All that should be gone with the topology, here and there."""
        there = [str(path) for path in (self.disk / "tmp").glob("*")]
        here = [str(path) for path in (self.engine.home / "uploads").glob("[!.]*")]
        return [*there, *here, *self.processes(), *self.engine.leftovers(), *self.servers.nodes(self.root)]


def _name(process: psutil.Process) -> str:
    words = process.cmdline()
    return f"container {words[-1]}" if "heronpy.container.guest" in words else process.name()


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


@pytest.fixture
def there(engine: Engine, zookeeper: ZooKeeper, tmp_path: Path, bare_python: Path) -> Iterator[Elsewhere]:
    made = Elsewhere(engine, zookeeper, tmp_path, bare_python)
    yield made
    engine.run("kill", "--all")
    assert made.left() == []


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


def _written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger-*")) // 12


def _arrived(folder: Path) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for path in folder.glob("ledger-*"):
        data = path.read_bytes()
        found.update(data[at : at + 8] for at in range(0, len(data), 12))
    return found
