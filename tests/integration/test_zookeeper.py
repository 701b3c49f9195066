"""Topologies whose state tree is in a real ZooKeeper, while its servers and sessions die."""

from __future__ import annotations

import os
import signal
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.clusters.zookeeper import ZooKeeper
from support.faults.fire import PATIENT, SLOWLY, Fire
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import EXECUTOR, SCHEDULER

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

LEDGER = struct.Struct("<III")
EVERYBODY = ("executor", "scheduler_host", "topology", "stream", "metrics", "relay", "ledger", "numbers")
TRICKLE = str(TOPOLOGIES / "trickle.py")


class OnZooKeeper:
    """An engine whose every command finds the state tree in ZooKeeper."""

    def __init__(self, engine: Engine, servers: ZooKeeper, session: str) -> None:
        self.engine = engine
        self.servers = servers
        self.root = servers.fresh_root()
        for key, value in {**servers.settings(self.root), "state.zookeeper.session": session}.items():
            engine.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value

    def pids(self, *roles: str) -> list[int]:
        """Process ids of these roles; the executors are `executor 0` and so on."""
        return sorted(process.pid for process in self.engine.processes() if _role(process).startswith(roles))

    def left(self) -> list[str]:
        return [*self.engine.leftovers(), *self.servers.nodes(self.root)]


def _role(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
        for role, module in (("executor", EXECUTOR), ("scheduler_host", SCHEDULER)):
            if module in words:
                return f"{role} {words[-1]}"
        return process.name()
    except psutil.NoSuchProcess:
        return ""


@pytest.fixture
def alone(engine: Engine, zookeeper: ZooKeeper) -> OnZooKeeper:
    return OnZooKeeper(engine, zookeeper, "4s")


@pytest.fixture
def majority(engine: Engine, ensemble: ZooKeeper) -> Iterator[OnZooKeeper]:
    yield OnZooKeeper(engine, ensemble, "15s")
    # whatever a failed test leaves can be ended only with a majority
    ensemble.start()


def test_the_same_file_counts_exactly_and_leaves_nothing(alone: OnZooKeeper, tmp_path: Path) -> None:
    total, engine = 100_000, alone.engine

    def entries() -> list[tuple[int, int, int]]:
        ledgers = [ledger.read_bytes() for ledger in tmp_path.glob("ledger-*")]
        # the last entry may be half written
        whole = [data[: len(data) // LEDGER.size * LEDGER.size] for data in ledgers]
        return [entry for data in whole for entry in LEDGER.iter_unpack(data)]

    engine.ok("submit", str(TOPOLOGIES / "ledger.py"), str(total // 2), str(tmp_path))
    wait_until(lambda: len(entries()) >= total, 100, "all tuples", engine.log_tails)
    arrived = Counter((source, number) for source, number, _ in entries())
    sources = sorted({source for source, _ in arrived})
    assert sorted(arrived) == [(source, number) for source in sources for number in range(total // 2)]
    assert set(arrived.values()) == {1}
    assert engine.status("LedgerTopology")["state"] == "RUNNING"
    engine.ok("kill", "LedgerTopology")
    assert alone.left() == []


def test_nothing_is_lost_while_the_ensemble_loses_its_leader_and_then_its_majority(
    majority: OnZooKeeper, tmp_path: Path
) -> None:
    engine, ensemble = majority.engine, majority.servers
    fire = Fire(engine, tmp_path, "ATLEAST_ONCE", "zookeeper", PATIENT, rest=SLOWLY)
    pids = majority.pids(*EVERYBODY)
    assert len(pids) > len(EVERYBODY)

    begun = time.monotonic()
    ensemble.leader().kill()
    wait_until(lambda: engine.run("status", "UnderFire").returncode == 0, 30, "somebody leads")
    print(f"status answered {time.monotonic() - begun:.2f} s after the leader's end")
    ensemble.start()
    without_majority(majority, fire)
    ensemble.start()
    wait_until(lambda: engine.run("status", "UnderFire").returncode == 0, 30, "a majority")
    engine.ok("deactivate", "UnderFire")
    engine.ok("activate", "UnderFire")

    fire.drain()
    verdict = fire.verdict()
    print(verdict, fire.progress())
    assert (verdict.lost, verdict.unexpected) == (0, 0)
    assert majority.pids(*EVERYBODY) == pids
    fire.end()
    assert majority.left() == []


def without_majority(majority: OnZooKeeper, fire: Fire) -> None:
    """Nobody can write, and the data flows on; a verb says what it waits for and gives up."""
    engine = majority.engine
    majority.servers.lose_majority()
    told = engine.fails("submit", TRICKLE, "late")
    assert told.splitlines()[0].startswith("waiting for ZooKeeper at 127.0.0.1:")
    assert told.splitlines()[1].startswith("error: cannot reach ZooKeeper: 127.0.0.1:")
    assert len(told.splitlines()) == 2
    for _ in range(5):  # again and again: not only what was on its way
        flows_on(fire, engine)


def flows_on(fire: Fire, engine: Engine) -> None:
    """From every relay to every ledger."""
    since = fire.sizes()
    wait_until(lambda: fire.flows(since), 30, "tuples", engine.log_tails)
    time.sleep(0.3)


def test_zookeeper_that_is_not_there_is_one_line_and_nothing_is_started(engine: Engine) -> None:
    flags = ("--state", "zookeeper", "--set", "state.zookeeper.hosts=127.0.0.1:1")
    told = engine.fails("submit", TRICKLE, "nowhere", *flags, "--set", "state.zookeeper.timeout=500ms")
    waiting, error = told.splitlines()
    assert waiting == "waiting for ZooKeeper at 127.0.0.1:1"
    assert error.startswith("error: cannot reach ZooKeeper: 127.0.0.1:1 says: connection refused (try: ")
    assert engine.leftovers() == []


def test_who_was_taken_for_dead_makes_room_or_goes_on(alone: OnZooKeeper) -> None:
    engine = alone.engine
    engine.ok("submit", TRICKLE, "t", "--set", "container.silence=60s")
    others = ("executor", "stream-manager", "ticker", "sink")
    before = alone.pids(*others)
    (old,) = alone.pids("topology-master")

    stop_for_longer_than_a_session(alone, old, "master")
    found = set()

    def another() -> bool:
        masters = alone.pids("topology-master")
        found.update(masters)
        assert len(masters) <= 1
        return found != {old} and bool(masters)

    wait_until(another, 30, "another master", engine.log_tails)
    wait_until(lambda: engine.status("t")["state"] == "RUNNING", 30, "it has everybody", engine.log_tails)
    assert len(found) == 2
    assert "the state tree has ended this master's session" in engine.log_tails()

    # Nobody has taken the executor's place: it has only to show that it lives.
    (executor,) = alone.pids("executor 1")
    stop_for_longer_than_a_session(alone, executor, "containers/1/pulse")
    wait_until(lambda: here(alone, "containers/1/pulse"), 30, "it shows that it lives", engine.log_tails)

    # The scheduler's process has a successor by now, and leaves everything to it.
    (host,) = alone.pids("scheduler_host")
    os.kill(host, signal.SIGSTOP)
    try:
        wait_until(lambda: len(alone.pids("scheduler_host")) == 2, 30, "a successor", engine.log_tails)
        wait_until(lambda: here(alone, "scheduler"), 30, "it is the one", engine.log_tails)
    finally:
        os.kill(host, signal.SIGCONT)
    wait_until(lambda: not psutil.pid_exists(host), 30, "the first one ends", engine.log_tails)

    assert alone.pids(*others) == before
    engine.ok("kill", "t")
    assert alone.left() == []


def stop_for_longer_than_a_session(alone: OnZooKeeper, pid: int, node: str) -> None:
    assert here(alone, node)
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: not here(alone, node), 30, f"{node} has gone")
    finally:
        os.kill(pid, signal.SIGCONT)


def here(alone: OnZooKeeper, node: str) -> bool:
    with alone.servers.client() as client:
        return client.exists(f"{alone.root}/t/{node}") is not None
