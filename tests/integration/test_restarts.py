"""Whatever process dies is started again, and data flows on."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from typing import Any

import psutil
import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import words

from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read


def executed(status: dict[str, Any]) -> int:
    return sum(int(instance["executed"]) for instance in status["instances"])


def running(engine: Engine, module: str) -> list[psutil.Process]:
    return [process for process in engine.processes() if module in words(process)]


def victim(engine: Engine, role: str) -> psutil.Process:
    """The process that plays a role in container 1 (the master's is container 0)."""
    if role == "executor":
        return next(
            p
            for p in engine.processes()
            if "heronpy.container.executor.main" in words(p) and words(p)[-1:] == ["1"]
        )
    if role == "scheduler":
        return running(engine, "heronpy.container.scheduler.scheduler_host")[0]
    return next(p for p in engine.processes() if p.name().startswith(role))


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("role", "links"),
    [
        ("sink[0]", "unix"),
        ("ticker[0]", "zmq"),
        ("stream-manager", "zmq"),
        ("stream-manager", "unix"),
        ("metrics-manager", "zmq"),
        ("topology-master", "unix"),
        ("executor", "unix"),
        ("scheduler", "unix"),
    ],
)
def test_a_killed_process_is_replaced_and_data_flows_on(engine: Engine, role: str, links: str) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "resilient", "--set", f"transport.local={links}")
    wait_until(lambda: executed(engine.status("resilient")) > 3, 20, "first tuples")
    killed = victim(engine, role)
    os.kill(killed.pid, signal.SIGKILL)

    wait_until(lambda: not psutil.pid_exists(killed.pid), 10, f"the end of {role}")
    wait_until(lambda: victim_is_back(engine, role, killed.pid), 20, f"a new {role}", engine.log_tails)
    before = executed(engine.status("resilient"))

    def flows() -> bool:
        status = engine.status("resilient")
        rate = sum(float(instance["execute_rate"]) for instance in status["instances"])
        return status["state"] == "RUNNING" and rate > 0 and executed(status) != before

    wait_until(flows, 30, "data to flow again", engine.log_tails)
    engine.ok("kill", "resilient")
    assert engine.leftovers() == []


def victim_is_back(engine: Engine, role: str, old: int) -> bool:
    if role == "scheduler":  # a process that has not claimed its node yet does nothing
        with closing(open_state(load_config(environ={}, flags={"home": str(engine.home)}))) as state:
            node = read(state, Tree("resilient").scheduler, SchedulerNode)
        return node is not None and node.pid != old
    try:
        return victim(engine, role).pid != old
    except (StopIteration, IndexError, psutil.NoSuchProcess):
        return False


@pytest.mark.cluster
def test_a_topology_that_nobody_keeps_alive_is_started_again_by_the_next_verb(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "forsaken")
    dead = engine.processes()
    for process in dead:
        process.suspend()  # nobody may start another while the rest is killed
    for process in dead:
        process.kill()
    wait_until(lambda: engine.processes() == [], 10, "the end of all")

    told = engine.run("restart", "forsaken", "0")
    assert told.returncode == 0, told.stderr
    assert told.stderr == "the scheduler and the master of forsaken were gone and are started again\n"
    wait_until(lambda: engine.status("forsaken")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    engine.ok("kill", "forsaken")
    assert engine.leftovers() == []
