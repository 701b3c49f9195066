"""Topologies on a real Spark cluster: a Master, and two Workers that are machines with a bare Python."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import struct
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from support.clusters.on_spark import OnSpark
from support.clusters.spark_application import quick
from support.clusters.spark_cluster import SparkCluster
from support.clusters.zookeeper import ZooKeeper
from support.faults.fire import SLOWLY, Fire
from support.running.engine import TOPOLOGIES, wait_until

from heronpy.kernel.machine.processes import process

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

LEDGER = struct.Struct("<III")
TRICKLE = str(TOPOLOGIES / "trickle.py")
#: a container for each instance
ONE_EACH = (
    *("--packing", "binpack"),
    *("--set", "topology.container.max.instances=1"),
    *("--set", "topology.container.cpu=2"),
    *("--set", "topology.container.ram=4GB"),
    *("--set", "topology.container.disk=20GB"),
)


@pytest.fixture
def spark(spark_cluster: SparkCluster, reachable_zookeeper: ZooKeeper, tmp_path: Path) -> Iterator[OnSpark]:
    engine = OnSpark(tmp_path / "home", spark_cluster, reachable_zookeeper)
    yield engine
    engine.close()


def test_the_same_file_counts_exactly_and_leaves_nothing(spark: OnSpark, tmp_path: Path) -> None:
    total = 60_000

    def arrived() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob("ledger-*")) // LEDGER.size

    spark.ok("submit", str(TOPOLOGIES / "ledger.py"), str(total // 2), str(tmp_path))
    assert {spark.machine_of(f"container {each}") for each in range(4)} == set(spark.cluster.machines)
    wait_until(lambda: arrived() >= total, 200, "all tuples", spark.log_tails)
    entries = [each for path in tmp_path.glob("ledger-*") for each in LEDGER.iter_unpack(path.read_bytes())]
    numbers = Counter((source, number) for source, number, _ in entries)
    sources = sorted({source for source, _ in numbers})
    assert sorted(numbers) == [(source, number) for source in sources for number in range(total // 2)]
    assert set(numbers.values()) == {1}

    assert spark.ok("logs", "LedgerTopology", "ledger[0]", "-n", "1").endswith(" runs ledger[0]\n")
    spark.ok("kill", "LedgerTopology")
    assert spark.leftovers() == []


def test_nothing_is_lost_whoever_of_spark_dies(spark: OnSpark, tmp_path: Path) -> None:
    fire = Fire(spark, tmp_path, "ATLEAST_ONCE", "spark", rest=SLOWLY)

    def strike(what: str, blow: Callable[[], None], dying: set[int]) -> None:
        begun = time.monotonic()
        blow()
        wait_until(
            lambda: not any(map(_alive, dying)), 120, f"{what}: the old ones are gone", spark.log_tails
        )
        gone, since = time.monotonic(), fire.sizes()
        wait_until(lambda: fire.flows(since), 200, f"{what}: every path flows", spark.log_tails)
        fire.recoveries.append(time.monotonic() - begun)
        print(f"{what}: gone after {gone - begun:.1f} s, every path flowed after {fire.recoveries[-1]:.1f} s")

    first = spark.pids()["container 1"]
    members = {pid for pid in _pids(spark) if os.getsid(pid) == first}
    strike("a container", lambda: os.kill(first, signal.SIGKILL), members)

    machine = spark.machine_of("container 1")
    strike("a Worker", lambda: spark.cluster.kill_worker(machine), spark.pids_on(machine))
    spark.cluster.start()

    strike("ZooKeeper's leader", spark.servers.leader().kill, set())
    spark.servers.start()

    strike("the driver's Python", _host(spark).kill, _pids(spark))
    (jvm,) = [child for child in _host(spark).children() if child.name() == "java"]
    strike("the driver's JVM", jvm.kill, _pids(spark))

    def replace_master() -> None:
        spark.cluster.kill_master()
        spark.cluster.start()

    strike("the Master, whose successor knows nobody", replace_master, _pids(spark))

    fire.drain()
    verdict = fire.verdict()
    print(verdict, fire.progress())
    assert (verdict.lost, verdict.unexpected) == (0, 0)
    fire.end()


def test_a_container_comes_and_goes_and_the_others_notice_nothing(spark: OnSpark) -> None:
    spark.ok("submit", TRICKLE, "t", *ONE_EACH)
    link = spark.status("t")["links"]["spark ui"]
    assert f"\nspark ui: {link}\n" in spark.ok("status", "t")
    assert b"container 2 of t" in urllib.request.urlopen(f"{link}/jobs/").read()
    before, everybody = spark.pids(), _pids(spark)
    assert {"container 0", "container 1", "container 2", "sink[0]"} <= set(before)

    spark.ok("update", "t", "sink=2")
    assert spark.pids().keys() - before.keys() == {"container 3", "sink[1]"}
    assert everybody <= _pids(spark)

    spark.ok("update", "t", "sink=1")
    wait_until(lambda: _pids(spark) == everybody, 30, "all of the third container is gone", spark.log_tails)
    assert spark.status("t")["state"] == "RUNNING"
    spark.ok("kill", "t")
    assert spark.leftovers() == []


def test_a_container_without_a_slot_is_named_and_nothing_stays(spark: OnSpark) -> None:
    few = ",".join((*quick(), spark.cluster.executors, "spark.task.cpus=6"))
    submit = spark.start("submit", TRICKLE, "t", *ONE_EACH, "--set", f"scheduler.spark.conf={few}")
    assert submit.stderr is not None
    # while only one of the executors is there, it is "of 1"
    told = re.compile(r"; container [012] waits: Spark has no free slot for it, of 2\n$")
    assert any(told.search(line) for line in submit.stderr)
    spark.ok("kill", "t")
    assert submit.wait(60) == 1
    submit.communicate()
    assert spark.leftovers() == []


def test_workers_without_the_python_that_is_asked_for_are_named_at_once(spark: OnSpark) -> None:
    told = spark.fails("submit", TRICKLE, "t", "--set", "container.python=/nowhere/python")
    assert told.splitlines()[-1].startswith("error: topology 't' did not start: container ")
    assert 'given up: Cannot run program "/nowhere/python"' in told
    spark.ok("kill", "t")
    assert spark.leftovers() == []


def _pids(spark: OnSpark) -> set[int]:
    return {each.pid for each in spark.containers_processes()}


def _host(spark: OnSpark) -> psutil.Process:
    hosts = []
    for each in spark.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            started = [child.name() for child in each.children()]
            if "heronpy.container.scheduler.scheduler_host" in each.cmdline() and "java" in started:
                hosts.append(each)
    (host,) = hosts
    return host


def _alive(pid: int) -> bool:
    found = process(pid)
    return found is not None and found.alive
