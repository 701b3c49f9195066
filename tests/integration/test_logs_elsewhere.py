"""Logs of containers on other machines, asked for from the machine that submitted and from any other."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from support.clusters.reachable import ReachableNetwork
from support.clusters.zookeeper import ZooKeeper
from support.running.engine import Engine, wait_until
from support.schedulers import elsewhere

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

TALKERS = """
import os, sys
from heronpy import Bolt, Grouping, Spout, Topology

class Words(Spout):
    outputs = ["word"]
    def initialize(self, config, context):
        print("words begin in process", os.getpid(), flush=True)
    def next_tuple(self):
        pass

class Count(Bolt):
    def initialize(self, config, context):
        print("count begins", flush=True)
        {statement}
    def process(self, tup):
        pass

class Talkers(Topology):
    config = {{"topology.stmgrs": 2}}
    words = Words.spec()
    count = Count.spec(inputs={{words: Grouping.SHUFFLE}})
"""


class Cluster:
    """Two machines with addresses of their own, and what a user must say to use them."""

    def __init__(self, home: Path, folder: Path, network: ReachableNetwork, servers: ZooKeeper) -> None:
        self.folder = folder
        self.home = home
        python = folder / "python"
        ip = shutil.which("ip")
        # `python heronpy.pyz container launch.json K`
        python.write_text(
            f"#!/bin/sh\nmachine={network.machines[0]}\n[ $4 = 2 ] && machine={network.machines[1]}\n"
            f'exec {ip} netns exec $machine {shlex.quote(sys.executable)} "$@"\n'
        )
        python.chmod(0o755)
        self._known = elsewhere.install(folder / "plugin")
        self._settings = servers.settings(servers.fresh_root())
        self._flags = [
            f"--set=plugins.elsewhere.{key}={value}"
            for key, value in {"folder": folder / "disk", "python": python}.items()
        ]

    def typed_on(self, home: Path) -> Engine:
        """Commands of a machine that knows of ZooKeeper and of nothing else."""
        engine = Engine(home)
        for key, value in self._settings.items():
            engine.environment[f"HERONPY_{key.upper().replace('.', '_')}"] = value
        return engine

    def submit(self, engine: Engine, statement: str = "pass") -> tuple[str, ...]:
        """The words of a submit."""
        engine.environment["PYTHONPATH"] = self._known
        file = self.folder / "code" / "talkers.py"
        file.parent.mkdir()
        file.write_text(TALKERS.format(statement=statement))
        return ("submit", str(file), "--scheduler", "elsewhere", *self._flags)

    def processes(self, name: str) -> list[psutil.Process]:
        """Those of this name that run over there."""
        found = []
        for each in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if each.name() == name and str(self.folder / "disk") in str(each.environ()):
                    found.append(each)
        return found

    def left(self) -> list[str]:
        return [str(path) for path in (self.folder / "disk" / "tmp").glob("*")]


@pytest.fixture
def cluster(tmp_path: Path, network: ReachableNetwork, reachable_zookeeper: ZooKeeper) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "home", tmp_path, network, reachable_zookeeper)
    yield made
    engine = made.typed_on(made.home)
    engine.environment["PYTHONPATH"] = made._known
    engine.run("kill", "--all")


def test_logs_are_asked_for_wherever_the_command_is_typed(cluster: Cluster, tmp_path: Path) -> None:
    submitting, third = cluster.typed_on(cluster.home), cluster.typed_on(tmp_path / "third")
    submitting.ok(*cluster.submit(submitting))
    for engine in (submitting, third):
        done = engine.run("logs", "Talkers")
        assert done.returncode == 0
        assert done.stderr == ""
        shown = {line.partition(" | ")[0] for line in done.stdout.splitlines()}
        assert {"words[0]", "count[0]"} <= shown
        assert "count begins" in engine.ok("logs", "Talkers", "count[0]").splitlines()
        assert engine.ok("logs", "Talkers", "count[0]", "-n", "1").endswith(" runs count[0]\n")
        assert engine.status("Talkers")["state"] == "RUNNING"
    submitting.ok("logs", "Talkers", "scheduler")
    assert "no log of 'scheduler'" in third.fails("logs", "Talkers", "scheduler"), (
        "it runs where it was submitted"
    )
    assert third.fails("logs", "Talkers", "cuont") == "error: no log of 'cuont'; did you mean 'count'?\n"

    following = third.start("logs", "Talkers", "words", "-f")
    (old,) = cluster.processes("words[0]")
    assert first_with("begin", following) == f"words[0] | words begin in process {old.pid}\n"
    old.kill()
    beginning = first_with("begin", following)
    assert [beginning] == [
        f"words[0] | words begin in process {each.pid}\n" for each in cluster.processes("words[0]")
    ]

    managers = cluster.processes("metrics-manager")
    for manager in managers:
        manager.send_signal(signal.SIGSTOP)
    done = third.run("logs", "Talkers", "container-0")
    for manager in managers:
        manager.send_signal(signal.SIGCONT)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"container {number} does not answer: its logs may be missing" for number in (1, 2)
    ]

    assert third.ok("kill", "Talkers", "--keep-logs") == "Talkers is gone\n"
    assert following.wait(30) == 0
    following.communicate()
    assert "count begins" in third.ok("logs", "Talkers", "count[0]"), "they were brought here"
    wait_until(lambda: cluster.left() == [], 30, "nothing is left there", lambda: str(cluster.left()))


def first_with(word: str, verb: subprocess.Popen[str]) -> str:
    """The next line of what a verb prints that has this word."""
    assert verb.stdout is not None
    return next(line for line in verb.stdout if word in line)


def test_a_start_that_fails_brings_the_logs_here(cluster: Cluster) -> None:
    engine = cluster.typed_on(cluster.home)
    done = engine.run(*cluster.submit(engine, "raise ValueError('no water')"))
    said = done.stderr.splitlines()
    logs = cluster.home / "topologies" / "Talkers" / "logs"
    assert done.returncode == 1
    assert f"last lines of {logs}/count[0].log:" in said
    assert "  count begins" in said
    assert f"all logs are kept in {logs}" in said
    assert said[-1].startswith(
        "error: topology 'Talkers' did not start: count[0] failed: ValueError: no water"
    )
    assert "count begins" in engine.ok("logs", "Talkers", "count")
    engine.ok("kill", "Talkers")
    assert engine.leftovers() == []
    wait_until(lambda: cluster.left() == [], 30, "nothing is left there", lambda: str(cluster.left()))
