"""Topologies on a real YARN: a ResourceManager, and two NodeManagers on machines of their own."""

from __future__ import annotations

import os
import signal
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clusters.on_yarn import OnYarn
from support.clusters.yarn_cluster import YarnCluster
from support.clusters.zookeeper import ZooKeeper
from support.faults.fire import SLOWLY, TOPOLOGY, Fire
from support.running.engine import TOPOLOGIES, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

LEDGER = struct.Struct("<III")
TRICKLE = (str(TOPOLOGIES / "trickle.py"), "Trickle")


@pytest.fixture
def yarn(yarn_cluster: YarnCluster, reachable_zookeeper: ZooKeeper, tmp_path: Path) -> Iterator[OnYarn]:
    engine = OnYarn(tmp_path / "home", yarn_cluster, reachable_zookeeper)
    yield engine
    engine.close()


class Siege:
    """A topology under load whose processes, and those of YARN, are killed one after the other."""

    def __init__(self, yarn: OnYarn, folder: Path, *settings: str) -> None:
        self.yarn = yarn
        self.fire = Fire(yarn, folder, "ATLEAST_ONCE", "yarn", *settings, rest=SLOWLY)
        self.before: dict[str, int] = {}
        self._begun = 0.0
        self._since: dict[Path, int] = {}

    def kill(self, who: str) -> None:
        self.begin()
        os.kill(self.before[who], signal.SIGKILL)

    def begin(self) -> None:
        self.before, self._since, self._begun = self.yarn.pids(), self.fire.sizes(), time.monotonic()
        names = [self.yarn.name_of(each) for each in self.yarn.containers_processes()]
        first = sorted(name for name in names if name.startswith("container "))
        assert first == sorted(set(first)), "some container is there twice"

    def recover(self, what: str, *dead: str) -> None:
        """Wait until these have successors and all paths flow."""
        wait_until(
            lambda: {self.yarn.pids().get(who, 0) for who in dead}.isdisjoint({0, *self.before.values()}),
            90,
            f"successors of {dead}",
            self.yarn.log_tails,
        )
        self._since = self.fire.sizes()
        wait_until(lambda: self.fire.flows(self._since), 90, "every path flows again", self.yarn.log_tails)
        print(f"{what}: every path flows again after {time.monotonic() - self._begun:.1f} s")

    def assert_nothing_is_lost(self) -> None:
        self.fire.drain()
        verdict = self.fire.verdict()
        print(verdict, self.fire.progress())
        assert (verdict.lost, verdict.unexpected) == (0, 0)


def test_the_same_file_counts_exactly_and_leaves_nothing(yarn: OnYarn, tmp_path: Path) -> None:
    total = 60_000

    def arrived() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob("ledger-*")) // LEDGER.size

    yarn.ok("submit", str(TOPOLOGIES / "ledger.py"), str(total // 2), str(tmp_path))
    assert {yarn.machine_of(f"container {each}") for each in range(4)} == set(yarn.cluster.machines)
    assert f"/cluster/app/{yarn.last_application()['id']}" in yarn.ok("status", "LedgerTopology")
    wait_until(lambda: arrived() >= total, 200, "all tuples", yarn.log_tails)
    entries = [each for path in tmp_path.glob("ledger-*") for each in LEDGER.iter_unpack(path.read_bytes())]
    numbers = Counter((source, number) for source, number, _ in entries)
    sources = sorted({source for source, _ in numbers})
    assert sorted(numbers) == [(source, number) for source in sources for number in range(total // 2)]
    assert set(numbers.values()) == {1}

    yarn.ok("kill", "LedgerTopology")
    wait_until(lambda: yarn.leftovers() == [], 10, "nothing is left", lambda: str(yarn.leftovers()))
    assert yarn.last_application()["finalStatus"] == "SUCCEEDED"


def test_containers_and_managers_die_and_nothing_is_lost(yarn: OnYarn, tmp_path: Path) -> None:
    siege = Siege(yarn, tmp_path)

    siege.kill("container 1")
    siege.recover("a container killed", "container 1")

    everyone = yarn.in_containers()
    siege.kill("host")
    siege.recover("the ApplicationMaster killed", "host")
    assert yarn.in_containers() == everyone

    siege.begin()
    yarn.cluster.kill_manager()
    yarn.cluster.start()
    siege.recover("the ResourceManager killed")
    assert yarn.in_containers() == everyone

    siege.begin()
    yarn.servers.leader().kill()
    siege.recover("ZooKeeper's leader killed")
    assert yarn.in_containers() == everyone
    yarn.servers.start()

    # the second ApplicationMaster serves the second ResourceManager as the first did the first
    siege.kill("container 2")
    siege.recover("another container killed", "container 2")
    siege.kill("container 0")
    siege.recover("the Topology Master's container killed", "container 0")

    siege.assert_nothing_is_lost()
    yarn.ok("kill", TOPOLOGY)
    # on a machine that only had containers which were lost, nobody was there to clear up
    yarn.sweep()
    wait_until(lambda: yarn.leftovers() == [], 10, "nothing is left", lambda: str(yarn.leftovers()))


def test_nodes_die_and_nothing_is_lost(yarn: OnYarn, tmp_path: Path) -> None:
    siege = Siege(yarn, tmp_path)

    def lose(machine: str, what: str) -> None:
        people = ("host", "container 0", "container 1", "container 2")
        victims = {who for who in people if yarn.machine_of(who) == machine}
        dead = {yarn.pids()[who] for who in victims}
        siege.begin()
        yarn.cluster.kill_node(machine)
        siege.recover(f"{what} killed, with {sorted(victims)}", *victims)
        wait_until(
            lambda: dead.isdisjoint(each.pid for each in yarn.containers_processes()),
            30,
            "those who were lost are fenced",
        )
        yarn.cluster.start()

    (other,) = set(yarn.cluster.machines) - {yarn.machine_of("host")}
    lose(other, "a NodeManager")
    lose(yarn.machine_of("host"), "the ApplicationMaster's NodeManager")
    siege.assert_nothing_is_lost()
    yarn.ok("kill", TOPOLOGY)
    # on a machine that only had containers which were lost, nobody was there to clear up
    yarn.sweep()
    wait_until(lambda: yarn.leftovers() == [], 10, "nothing is left", lambda: str(yarn.leftovers()))


def test_a_container_is_added_and_removed_while_the_others_go_on(yarn: OnYarn, tmp_path: Path) -> None:
    settings = (
        "packing.algorithm=resource_compliant",
        "topology.container.max.instances=3",
        f"checkpoint.path={tmp_path / 'checkpoints'}",
    )
    siege = Siege(yarn, tmp_path, *settings)
    everyone = yarn.in_containers()
    assert "container 4" not in yarn.pids()

    yarn.ok("update", TOPOLOGY, "relay=4")
    assert "container 4" in yarn.pids()
    assert everyone < yarn.in_containers()

    yarn.ok("update", TOPOLOGY, "relay=2")
    siege.begin()
    wait_until(lambda: yarn.in_containers() == everyone, 30, "the others are there, and nobody else")
    siege.recover("back to as it was")
    siege.assert_nothing_is_lost()
    yarn.ok("kill", TOPOLOGY)
    wait_until(lambda: yarn.leftovers() == [], 10, "nothing is left", lambda: str(yarn.leftovers()))


def test_an_application_master_that_hangs_is_no_excuse(yarn: OnYarn) -> None:
    yarn.ok("submit", *TRICKLE)
    os.kill(yarn.pids()["host"], signal.SIGSTOP)
    yarn.ok("kill", "Trickle")
    wait_until(lambda: yarn.processes() == [], 10, "nobody runs", lambda: str(yarn.processes()))
    # YARN gives them too little time to clear up
    yarn.sweep()
    assert yarn.leftovers() == []
    assert yarn.last_application()["finalStatus"] == "KILLED"


def test_secrets_travel_as_yarns_credentials_alone(yarn: OnYarn, tmp_path: Path) -> None:
    password = "Ixahl3eiquoh"
    file = tmp_path / "zookeeper"
    file.touch(mode=0o600)
    file.write_text(f"heron:{password}\n")
    yarn.environment["HERONPY_STATE_ZOOKEEPER_CREDENTIALS"] = str(file)
    yarn.ok("submit", *TRICKLE)

    for process in yarn.containers_processes():
        told = [*process.cmdline(), *process.environ().values()]
        assert not [word for word in told if password in word]
    assert yarn.exposed(password) == []
    yarn.ok("kill", "Trickle")
