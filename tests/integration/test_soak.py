"""Hours in minutes: memory, random faults without end, and a Topology Master that is away. `make soak`."""

from __future__ import annotations

import os
import signal
import statistics
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.faults.fire import PATIENT, Fire
from support.memory import MB, MemoryLog
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import words

MINUTES = float(os.environ.get("SOAK_MINUTES", "10"))
#: tuples a second, and checkpoints, while nothing happens but them
RATE = os.environ.get("SOAK_RATE", "30000")
INTERVAL = os.environ.get("SOAK_CHECKPOINT", "1s")
#: minutes in which memory may grow: caches fill, and pages of the zygote's are written to for the first time
WARM_UP = min(10.0, MINUTES / 4)
ROLES = ["numbers", "relay", "ledger"]
ROLES += ["stream-manager", "metrics-manager", "topology-master", "executor", "scheduler"]

pytestmark = [pytest.mark.soak, pytest.mark.timeout(60 * MINUTES + 600)]


def memory_of(engine: Engine) -> int:
    """Bytes of all processes together, shared pages counted once for each."""
    total = 0
    for process in engine.processes():
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def stop_for_a_moment(fire: Fire, role: str) -> None:
    process = fire.dice.choice(fire.victims(role))
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(fire.dice.uniform(0.1, 2.0))
    if process.is_running():
        os.kill(process.pid, signal.SIGCONT)


def test_the_memory_of_no_process_grows(engine: Engine) -> None:
    settings = ("--set", f"checkpoint.interval={INTERVAL}", "--set", "metrics.sinks=jsonl")
    engine.ok("submit", str(TOPOLOGIES / "soaked.py"), RATE, *settings, timeout=180)
    memory = MemoryLog(engine)
    begun, before = time.monotonic(), engine.status("Soaked")
    while time.monotonic() < begun + 60 * MINUTES:
        memory.sample()
        time.sleep(2)
    status, seconds = engine.status("Soaked"), time.monotonic() - begun
    checkpoints = status["checkpoints"]["id"] - before["checkpoints"]["id"]
    tuples = _emitted(status) - _emitted(before)
    growths = memory.growths(60 * WARM_UP, window=2 * MINUTES)
    print(f"{seconds / 60:.1f} minutes, {tuples / seconds:,.0f} tuples a second, {checkpoints} checkpoints")
    print("\n".join([memory.HEAD, *(growth.line() for growth in growths)]))
    assert status["state"] == "RUNNING"
    assert sum(instance["restarts"] for instance in status["instances"]) == 0
    grown = {growth.process: growth.resident for growth in growths if growth.resident >= MB}
    assert grown == {}
    engine.ok("kill", "Soaked")
    assert engine.leftovers() == []


def _emitted(status: dict[str, Any]) -> int:
    """By the spout."""
    (numbers,) = (each for each in status["instances"] if each["kind"] == "spout")
    return int(numbers["emitted"])


def test_random_faults_for_minutes_lose_nothing(engine: Engine, tmp_path: Path) -> None:
    fire = Fire(engine, tmp_path, "ATLEAST_ONCE", "soak", rest=0.0)
    until = time.monotonic() + 60 * MINUTES
    faults = 0
    memory = [memory_of(engine)]
    while time.monotonic() < until:
        fault = fire.dice.choice(["kill", "kill", "pair", "stop"])
        if fault == "stop":
            stop_for_a_moment(fire, fire.dice.choice(ROLES))
        else:
            fire.shoot(*fire.dice.sample(ROLES, 2 if fault == "pair" else 1))
        faults += 1
        memory.append(memory_of(engine))
    fire.drain()
    verdict = fire.verdict()
    print(f"{faults} faults, {verdict}, {fire.progress()}")
    print(f"memory of all processes, MB: {[size >> 20 for size in memory]}")
    assert (verdict.lost, verdict.unexpected) == (0, 0)
    assert fire.progress().replayed > 0
    first, second = memory[: -(-len(memory) // 2)], memory[len(memory) // 2 :]
    assert statistics.median(second) < 1.2 * statistics.median(first), "memory grows"
    fire.end()


def test_a_master_that_is_away_for_minutes_is_not_missed(engine: Engine, tmp_path: Path) -> None:
    fire = Fire(engine, tmp_path, "ATLEAST_ONCE", "master away", "container.silence=2h", PATIENT, rest=0.0)
    (executor,) = (p for p in engine.processes() if words(p)[-2:] == [str(fire.launch_file), "0"])
    os.kill(executor.pid, signal.SIGSTOP)
    (master,) = fire.victims("topology-master")
    os.kill(master.pid, signal.SIGKILL)
    others = {role: {p.pid for p in fire.victims(role)} for role in ROLES if role != "topology-master"}
    until = time.monotonic() + 60 * MINUTES
    before = sum(fire.sizes().values())
    while time.monotonic() < until:
        time.sleep(5)
        now = sum(fire.sizes().values())
        assert now > before, "the flow has stopped"
        before = now
    assert {role: {p.pid for p in fire.victims(role)} for role in others} == others
    os.kill(executor.pid, signal.SIGCONT)
    wait_until(lambda: engine.status("UnderFire")["state"] == "RUNNING", 30, "the master is back")
    fire.drain()
    assert fire.verdict() == (0, 0, 0)
    assert fire.progress().replayed == 0
    fire.end()
