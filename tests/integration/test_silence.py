"""Processes that stand still: killed and replaced after `container.silence`, and not a moment before."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from support.faults.fire import PATIENT
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.fleet import (
    alive,
    executors,
    home_of,
    members,
    named,
    no_twins,
    resume,
    scheduler,
    stop_without_the_lock,
    victim,
    words,
)
from support.running.replaying import acks, catch_up, drain, processed, progress, sent
from support.schedulers import deaf_scheduler

#: one topology bears up to seven faults in turn
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(480)]

#: more than is ever sent: the source is stopped when the test has seen enough
ENDLESS = 1 << 31
#: numbers a second
RATE = 4_000
#: acks that prove a flow: more than can have been in flight before
FLOW = 2_000
SILENCE = 2.0
#: seconds without a word of a container until the Topology Master asks for another
LOST = 3.0
#: how long a process stands still that is not to be replaced, and how patient the others are with that
MOMENT, PATIENCE = 1.0, 6.0
#: how often each task is killed in a storm: the pauses between its restarts are then 3 s in all
STORM = 6

#: their death concerns data in flight; a container is all processes of it at once
NEEDED = ("relay", "stream-manager", "executor", "container", "numbers")
BYSTANDERS = ("metrics-manager", "topology-master", "scheduler")
#: while one of these stands still, the spout may soon have nothing more to send
ON_THE_PATH = ("relay", "stream-manager", "container", "numbers")


def submit(engine: Engine, folder: Path, *settings: str, options: tuple[str, ...] = ()) -> None:
    """Start the replaying topology and wait for the first acks."""
    flags = [word for setting in settings for word in ("--set", setting)]
    topology = [str(TOPOLOGIES / "replaying.py"), str(ENDLESS), str(folder), str(RATE)]
    engine.ok("submit", *topology, *flags, *options)
    flow(engine, folder)


def flow(engine: Engine, folder: Path) -> None:
    """Wait until so much more is acked that it cannot all have been in flight before."""
    enough = acks(folder) + FLOW
    wait_until(lambda: acks(folder) >= enough, 90, "a flow of data", engine.log_tails)


def sent_again(folder: Path, replayed: int, role: str) -> None:
    """Wait until more was replayed than that: the fault has hit something in flight."""
    wait_until(lambda: progress(folder)[1] > replayed, 30, f"a replay of what was lost with {role}")


def settle(folder: Path) -> None:
    """End the source; all that was sent has been processed, nothing more often than it was sent."""
    drain(folder)
    seen, expected = processed(folder), sent(folder)
    assert seen.keys() == expected.keys(), "lost or unexpected numbers"
    assert seen <= expected, "a number was processed more often than it was sent"


def settle_without_replay(folder: Path) -> None:
    """… and nothing was sent twice, so each number was processed once."""
    settle(folder)
    assert progress(folder)[1] == 0


def kill(engine: Engine) -> None:
    engine.ok("kill", "Replaying")
    assert engine.leftovers() == []


def logs(engine: Engine) -> str:
    return "\n".join(path.read_text() for path in engine.home.glob("topologies/*/logs/*.log"))


def replacement(engine: Engine, role: str, old: psutil.Process, container: int) -> bool:
    if role == "scheduler":
        found = scheduler(engine)
    elif role in ("executor", "container"):
        found = executors(engine).get(container)
    else:
        sessions = [executors(engine)[container].pid] if container in executors(engine) else []
        found = next((p for p in named(engine, role) if alive(p) and os.getsid(p.pid) in sessions), None)
    return found is not None and found.pid != old.pid


def outlast(engine: Engine, folder: Path, role: str) -> None:
    """Let the role stand still until it is ended, and wait for its replacement and for data to flow."""
    chosen = victim(engine, "executor" if role == "container" else role)
    old: Sequence[psutil.Process] = members(chosen) if role == "container" else [chosen]
    assert len(old) >= (4 if role == "container" else 1)
    home = next((each for each, p in executors(engine).items() if p.pid == os.getsid(chosen.pid)), -1)
    complaints = logs(engine).count("silent for ")
    acked, meanwhile = acks(folder), 0

    def ended() -> bool:
        nonlocal meanwhile
        now = acks(folder)
        if any(map(alive, old)):
            meanwhile = now - acked
            return False
        return True

    begun = time.monotonic()
    stop_without_the_lock(engine, old)
    wait_until(ended, 30, f"the end of {role}", engine.log_tails)
    took = time.monotonic() - begun
    print(f"{role} ended after {took:.1f} s, {meanwhile} acked meanwhile")
    assert took > SILENCE / 2
    assert meanwhile > 0 or role in ON_THE_PATH
    wait_until(lambda: replacement(engine, role, chosen, home), 30, f"a new {role}", engine.log_tails)
    flow(engine, folder)
    assert logs(engine).count("silent for ") > complaints


def test_a_part_of_the_path_that_stands_still_for_too_long_is_replaced_and_nothing_is_lost(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, f"container.silence={SILENCE:g}s")
    with no_twins(engine):
        for role in NEEDED:
            replayed = progress(tmp_path)[1]
            outlast(engine, tmp_path, role)
            sent_again(tmp_path, replayed, role)
            catch_up(tmp_path)
        settle(tmp_path)
    kill(engine)


def test_a_process_of_many_tasks_that_stands_still_is_replaced_and_nothing_is_lost(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, f"container.silence={SILENCE:g}s", "topology.fuse=container")
    with no_twins(engine):
        old = named(engine, "tasks")[0]
        replayed = progress(tmp_path)[1]
        stop_without_the_lock(engine, [old])
        wait_until(lambda: not alive(old), 30, "its end", engine.log_tails)
        flow(engine, tmp_path)
        sent_again(tmp_path, replayed, "tasks")
        settle(tmp_path)
    assert "silent for " in logs(engine)
    kill(engine)


def test_a_bystander_that_stands_still_for_too_long_is_replaced_and_no_tuple_is_concerned(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, f"container.silence={SILENCE:g}s", PATIENT)
    with no_twins(engine):
        for role in BYSTANDERS:
            outlast(engine, tmp_path, role)
            assert progress(tmp_path)[1] == 0, role
        settle_without_replay(tmp_path)
    kill(engine)


def test_whatever_stands_still_for_a_moment_goes_on_as_if_nothing_had_been(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, f"container.silence={PATIENCE:g}s", PATIENT)
    before = {p.pid for p in engine.processes()}
    for role in ("relay", "stream-manager", "executor", "numbers", *BYSTANDERS):
        old = victim(engine, role)
        stop_without_the_lock(engine, [old])
        time.sleep(MOMENT)
        resume([old])
        flow(engine, tmp_path)
        assert {p.pid for p in engine.processes()} == before, role
    settle_without_replay(tmp_path)
    assert {p.pid for p in engine.processes()} == before
    assert "silent" not in logs(engine)
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
    submit(engine, tmp_path, silence, *unhurt, options=("--scheduler", "deaf"))
    home = 0 if which == "master" else 3 - home_of(engine, "numbers")
    first = executors(engine)[home]
    command, zombies = words(first), members(first)
    stop_without_the_lock(engine, zombies)

    def replaced() -> bool:
        found = [p for p in engine.processes() if words(p) == command]
        return any(p.pid != first.pid and len(members(p)) >= len(zombies) for p in found)

    wait_until(replaced, 30, "another container", engine.log_tails)
    flow(engine, tmp_path)
    # the executor comes last, so that the others have their chance to do harm
    resume(reversed(zombies))
    wait_until(lambda: not any(map(alive, zombies)), 20, "the end of the zombies", engine.log_tails)
    flow(engine, tmp_path)
    (settle_without_replay if which == "master" else settle)(tmp_path)
    assert "another executor has this container" in logs(engine)
    wait_until(lambda: engine.status("Replaying")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    kill(engine)


def test_a_container_that_the_master_does_not_hear_of_is_replaced_though_its_executor_lives(
    engine: Engine, tmp_path: Path
) -> None:
    submit(engine, tmp_path, "container.silence=10m", f"container.lost={LOST:g}s")
    old = victim(engine, "executor")
    stop_without_the_lock(engine, [p for p in members(old) if p.name().startswith("stream-manager")])
    with no_twins(engine):
        wait_until(lambda: not alive(old), 30, "the end of the container", engine.log_tails)
        flow(engine, tmp_path)
        settle(tmp_path)
    assert "not heard of for " in logs(engine)
    kill(engine)


def test_a_master_that_is_away_does_no_harm(engine: Engine, tmp_path: Path) -> None:
    submit(engine, tmp_path, "container.silence=10m", f"container.lost={LOST:g}s", PATIENT)
    keeper = executors(engine)[0]
    (master,) = named(engine, "topology-master")
    before = {p.pid for p in engine.processes()} - {master.pid}
    stop_without_the_lock(engine, [keeper])
    os.kill(master.pid, signal.SIGKILL)
    # for longer than a container may be unheard of, however fast the flow is
    over = time.monotonic() + 2 * LOST
    while time.monotonic() < over:
        flow(engine, tmp_path)
    assert {p.pid for p in engine.processes() if alive(p)} - {master.pid} == before
    resume([keeper])
    wait_until(lambda: engine.status("Replaying")["state"] == "RUNNING", 30, "a run", engine.log_tails)
    assert {p.pid for p in engine.processes()} >= before
    settle_without_replay(tmp_path)
    kill(engine)


def test_a_storm_of_kills_passes(engine: Engine) -> None:
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "storm")
    killed = set[int]()

    def runs() -> list[psutil.Process]:
        found = [*named(engine, "ticker"), *named(engine, "sink")]
        return [p for p in found if alive(p) and p.pid not in killed]

    for _ in range(STORM):
        wait_until(lambda: len(runs()) == 2, 30, "both run again", engine.log_tails)
        for process in runs():
            process.kill()
            killed.add(process.pid)

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
