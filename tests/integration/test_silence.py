"""Processes that stand still: killed and replaced after `container.silence`, and not a moment before."""

from __future__ import annotations

import os
import signal
import struct
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from support import deaf_scheduler
from support.engine import TOPOLOGIES, Engine, wait_until
from support.fire import PATIENT
from support.fleet import (
    alive,
    executors,
    home_of,
    members,
    named,
    no_twins,
    resume,
    scheduler,
    stop,
    stop_without_the_lock,
    victim,
    words,
)
from support.replaying import progress

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

TUPLES = 100_000
#: … in a second: data flows for longer than it takes to find out who is silent
RATE = 10_000
SILENCE = 2.0
#: how long one stands still who is not to be replaced, and how patient the others are with that
MOMENT, PATIENCE = 1.0, 6.0
ENTRY = struct.Struct("<II")

ROLES = ["relay", "stream-manager", "metrics-manager", "topology-master", "executor", "scheduler"]
#: those whose death concerns data in flight
NEEDED = ("relay", "stream-manager", "executor")
#: without these no data flows
FLOW = ("relay", "stream-manager")


def submit(engine: Engine, folder: Path, tuples: int, *settings: str, options: tuple[str, ...] = ()) -> None:
    """Start the replaying topology and wait for the first acks."""
    flags = [word for setting in settings for word in ("--set", setting)]
    topology = [str(TOPOLOGIES / "replaying.py"), str(tuples), str(folder), str(RATE)]
    engine.ok("submit", *topology, *flags, *options)
    wait_until(lambda: progress(folder)[0] > 0, 60, "some progress", engine.log_tails)


def settle(folder: Path, tuples: int = TUPLES) -> Counter[int]:
    """Wait until everything is acked; how often each number was seen: at most as often as it was sent."""
    wait_until(lambda: progress(folder)[0] >= tuples, 120, "all acks", lambda: str(progress(folder)))
    seen = Counter(
        number for path in folder.glob("ledger-*") for number, _ in ENTRY.iter_unpack(path.read_bytes())
    )
    assert sorted(seen) == list(range(tuples)), "lost or unexpected numbers"
    assert seen.total() <= tuples + progress(folder)[1], "a number was processed more often than it was sent"
    return seen


def kill(engine: Engine) -> None:
    engine.ok("kill", "Replaying")
    assert engine.leftovers() == []


def logs(engine: Engine) -> str:
    return "\n".join(path.read_text() for path in engine.home.glob("topologies/*/logs/*.log"))


def replacement(engine: Engine, role: str, old: psutil.Process, container: int) -> bool:
    if role == "scheduler":
        found = scheduler(engine)
    elif role == "executor":
        found = executors(engine).get(container)
    else:
        sessions = [executors(engine)[container].pid] if container in executors(engine) else []
        found = next((p for p in named(engine, role) if alive(p) and os.getsid(p.pid) in sessions), None)
    return found is not None and found.pid != old.pid


@pytest.mark.parametrize("role", ROLES)
def test_who_stands_still_for_too_long_is_replaced_and_nothing_is_lost(
    engine: Engine, tmp_path: Path, role: str
) -> None:
    unhurt = [] if role in NEEDED else [PATIENT]
    submit(engine, tmp_path, TUPLES, f"container.silence={SILENCE:g}s", *unhurt)
    old = victim(engine, role)
    home = next((each for each, p in executors(engine).items() if p.pid == os.getsid(old.pid)), -1)
    acked = progress(tmp_path)[0]
    with no_twins(engine):
        begun = time.monotonic()
        stop([old])
        wait_until(lambda: not alive(old), 30, f"the end of {role}", engine.log_tails)
        took = time.monotonic() - begun
        meanwhile = progress(tmp_path)[0] - acked
        print(f"{role} ended after {took:.1f} s, {meanwhile} acked meanwhile")
        assert took > SILENCE / 2
        assert meanwhile > 0 or role in FLOW
        wait_until(lambda: replacement(engine, role, old, home), 30, f"a new {role}", engine.log_tails)
        seen = settle(tmp_path)
    if role in NEEDED:
        assert progress(tmp_path)[1] > 0, "the fault hit nothing in flight"
    else:
        assert progress(tmp_path)[1] == 0
        assert set(seen.values()) == {1}
    assert "silent for " in logs(engine)
    kill(engine)


@pytest.mark.parametrize("role", ROLES)
def test_who_stands_still_for_a_moment_goes_on_as_if_nothing_had_been(
    engine: Engine, tmp_path: Path, role: str
) -> None:
    submit(engine, tmp_path, TUPLES // 2, f"container.silence={PATIENCE:g}s", PATIENT)
    before = {p.pid for p in engine.processes()}
    old = victim(engine, role)
    stop([old])
    time.sleep(MOMENT)
    resume([old])
    seen = settle(tmp_path, TUPLES // 2)
    assert {p.pid for p in engine.processes()} == before
    assert progress(tmp_path)[1] == 0
    assert set(seen.values()) == {1}
    assert "silent" not in logs(engine)
    kill(engine)


def test_a_container_that_stands_still_as_a_whole_is_replaced(engine: Engine, tmp_path: Path) -> None:
    submit(engine, tmp_path, TUPLES, f"container.silence={SILENCE:g}s")
    old = members(victim(engine, "executor"))
    assert len(old) >= 4
    with no_twins(engine):
        stop(old)
        wait_until(lambda: not any(map(alive, old)), 30, "the end of the container", engine.log_tails)
        settle(tmp_path)
    assert progress(tmp_path)[1] > 0
    kill(engine)


@pytest.mark.parametrize("which", ["worker", "master"])
def test_a_zombie_of_a_replaced_container_is_fenced_and_leaves(
    engine: Engine, tmp_path: Path, which: str
) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    deaf_scheduler.install(plugin)
    paths = [str(plugin), *filter(None, [os.environ.get("PYTHONPATH")])]
    engine.environment["PYTHONPATH"] = os.pathsep.join(paths)
    unhurt = [PATIENT] if which == "master" else []
    silence = f"container.silence={SILENCE:g}s"
    submit(engine, tmp_path, TUPLES, silence, *unhurt, options=("--scheduler", "deaf"))
    home = 0 if which == "master" else 3 - home_of(engine, "numbers")
    first = executors(engine)[home]
    command, zombies = words(first), members(first)
    stop_without_the_lock(engine, zombies)

    def replaced() -> bool:
        found = [p for p in engine.processes() if words(p) == command]
        return any(p.pid != first.pid and len(members(p)) >= len(zombies) for p in found)

    wait_until(replaced, 30, "another container", engine.log_tails)
    wait_until(lambda: progress(tmp_path)[0] >= TUPLES / 2, 60, "half of all acks", engine.log_tails)
    # the executor comes last, so that the others have their chance to do harm
    resume(reversed(zombies))
    wait_until(lambda: not any(map(alive, zombies)), 20, "the end of the zombies", engine.log_tails)
    seen = settle(tmp_path)
    if which == "master":
        assert progress(tmp_path)[1] == 0
        assert set(seen.values()) == {1}
    assert "another executor has this container" in logs(engine)
    wait_until(lambda: engine.status("Replaying")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    kill(engine)


def test_a_container_that_the_master_does_not_hear_of_is_replaced_though_its_executor_lives(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, TUPLES, "container.silence=10m", "container.lost=3s")
    old = victim(engine, "executor")
    stop(p for p in members(old) if p.name().startswith("stream-manager"))
    with no_twins(engine):
        wait_until(lambda: not alive(old), 30, "the end of the container", engine.log_tails)
        settle(tmp_path)
    assert "not heard of for " in logs(engine)
    kill(engine)


def test_a_master_that_is_away_does_no_harm(engine: Engine, tmp_path: Path) -> None:
    # what were lost would be replayed before this is over
    settings = ("container.silence=10m", "container.lost=3s", "topology.message.timeout.secs=10")
    submit(engine, tmp_path, 100_000_000, *settings)
    keeper = executors(engine)[0]
    (master,) = named(engine, "topology-master")
    before = {p.pid for p in engine.processes()} - {master.pid}
    stop([keeper])
    os.kill(master.pid, signal.SIGKILL)
    for _ in range(5):
        acked = progress(tmp_path)[0]
        time.sleep(3)
        assert progress(tmp_path)[0] > acked, "data must flow without a master"
    assert {p.pid for p in engine.processes() if alive(p)} - {master.pid} == before
    resume([keeper])
    wait_until(lambda: engine.status("Replaying")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    assert {p.pid for p in engine.processes()} >= before
    assert progress(tmp_path)[1] == 0
    kill(engine)


def test_a_storm_of_kills_passes(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "storm")
    over = time.monotonic() + 10
    while time.monotonic() < over:
        for process in [*named(engine, "ticker"), *named(engine, "sink")]:
            process.kill()
        time.sleep(0.5)

    def flows() -> bool:
        status = engine.status("storm")
        rate = sum(float(instance["execute_rate"]) for instance in status["instances"])
        return status["state"] == "RUNNING" and rate > 0

    wait_until(flows, 60, "data to flow again", engine.log_tails)
    engine.ok("kill", "storm")
    assert engine.leftovers() == []


def test_what_cannot_start_is_given_up_with_its_reason_and_the_rest_runs_on(
    engine: Engine, tmp_path: Path
) -> None:
    settings = ("--set", "container.restart_attempts=3")
    engine.ok("submit", str(TOPOLOGIES / "fragile.py"), str(tmp_path), *settings)
    others = {p.pid for p in engine.processes()}
    (sink,) = named(engine, "sink[1]")
    others.remove(sink.pid)
    (tmp_path / "broken").touch()
    sink.kill()

    wait_until(lambda: engine.status("Fragile")["state"] == "FAILED", 30, "FAILED", engine.log_tails)
    status = engine.status("Fragile")
    (failed,) = [each for each in status["instances"] if each["state"] == "failed"]
    assert (failed["component"], failed["index"], failed["restarts"]) == ("sink", 1, 3)
    assert failed["error"] == (
        "given up after 3 restarts in a row:"
        " RuntimeError: the database is not there (fragile.py:27 in initialize)"
    )
    assert status["reason"] == f"sink[1] in container {failed['container']} is failed: {failed['error']}"
    assert "FAILED" in engine.ok("list")
    assert {p.pid for p in engine.processes()} == others

    (tmp_path / "broken").unlink()
    engine.ok("restart", "Fragile", str(failed["container"]))
    wait_until(lambda: engine.status("Fragile")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    engine.ok("kill", "Fragile")
    assert engine.leftovers() == []
