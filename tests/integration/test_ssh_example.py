"""The scheduler of the plugin tutorial: containers on two machines that have a bare Python and a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clusters.reachable import ReachableNetwork
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.schedulers.plugin_package import EXAMPLES, ExamplePackage

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

PACKAGE = "heronpy-ssh-scheduler"
TUPLES = 20_000


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ExamplePackage:
    return ExamplePackage(PACKAGE, tmp_path_factory.mktemp("package"))


class Machines:
    """Network namespaces with a disk each, for which the example's netns-ssh does what ssh does."""

    def __init__(self, network: ReachableNetwork, disks: Path) -> None:
        self.names = network.machines
        self.disks = disks / "disks"
        #: of clusters that other tests share
        self._others = {pid for name in self.names for pid in self._pids(name)}
        self.ssh = shlex.join([f"{EXAMPLES / PACKAGE}/netns-ssh", str(self.disks)])

    def processes(self, machine: str) -> dict[int, str]:
        """Pid and command line of those that run on one of them."""
        return {int(pid): _command_line(pid) for pid in self._pids(machine) - self._others}

    def _pids(self, machine: str) -> set[str]:
        done = subprocess.run(["ip", "netns", "pids", machine], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    def left(self) -> list[str]:
        files = [
            str(path) for name in self.names for path in (self.disks / name).rglob("*") if path.is_file()
        ]
        return [*files, *(line for name in self.names for line in self.processes(name).values())]


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except FileNotFoundError:
        return ""


@pytest.fixture
def machines(network: ReachableNetwork, temporary: Path) -> Iterator[Machines]:
    made = Machines(network, temporary)
    yield made
    shutil.rmtree(made.disks)


@pytest.fixture
def cluster(engine: Engine, package: ExamplePackage, reachable_zookeeper: ZooKeeper) -> Engine:
    """Commands that find the state tree in ZooKeeper, and the plugin."""
    engine.environment["PYTHONPATH"] = package.installed
    for key, value in reachable_zookeeper.settings(reachable_zookeeper.fresh_root()).items():
        engine.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value
    return engine


def test_the_package_passes_its_own_tests(package: ExamplePackage) -> None:
    done = package.run_its_tests()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_topology_runs_on_two_machines_and_leaves_nothing(
    cluster: Engine, machines: Machines, bare_python: Path, tmp_path: Path
) -> None:
    flags = {"machines": ",".join(machines.names), "command": machines.ssh, "python": bare_python}
    words = [f"--set=plugins.ssh.{key}={value}" for key, value in flags.items()]
    topology = (str(TOPOLOGIES / "ledger.py"), str(TUPLES), str(tmp_path))
    cluster.ok("submit", *topology, "--scheduler", "ssh", "--set=topology.stmgrs=2", *words, timeout=110)
    for number, machine in enumerate(machines.names):
        containers = {each for line in machines.processes(machine).values() for each in _containers(line)}
        assert containers == ({0, 2} if number == 0 else {1})
    wait_until(lambda: _written(tmp_path) >= 2 * TUPLES, 60, "all tuples", cluster.log_tails)
    assert set(_arrived(tmp_path).values()) == {1}
    assert len(_arrived(tmp_path)) == 2 * TUPLES

    logs = cluster.run("logs", "LedgerTopology")
    assert logs.stderr == ""
    shown = {line.partition(" | ")[0] for line in logs.stdout.splitlines()}
    assert {"numbers[0]", "numbers[1]", "ledger[0]", "ledger[1]"} <= shown

    (victim,) = [pid for pid, line in machines.processes(machines.names[1]).items() if 1 in _containers(line)]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: _runs(cluster, machines, victim), 60, "container 1 is back", cluster.log_tails)

    cluster.ok("kill", "LedgerTopology")
    assert cluster.leftovers() == []
    wait_until(lambda: machines.left() == [], 30, "nothing is left there", lambda: str(machines.left()))


def _containers(command_line: str) -> list[int]:
    """The container whose first process this is, if it is one."""
    return [
        int(k)
        for k in re.findall(
            r"heronpy\.container\.remote\.remote_start container .* (\d+) --lifeline", command_line
        )
    ]


def _runs(cluster: Engine, machines: Machines, victim: int) -> bool:
    pids = {pid for pid, line in machines.processes(machines.names[1]).items() if 1 in _containers(line)}
    return bool(pids) and victim not in pids and cluster.status("LedgerTopology")["state"] == "RUNNING"


def _written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("ledger-*")) // 12


def _arrived(folder: Path) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for path in folder.glob("ledger-*"):
        data = path.read_bytes()
        found.update(data[at : at + 8] for at in range(0, len(data), 12))
    return found
