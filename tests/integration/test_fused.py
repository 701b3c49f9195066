"""All tasks of a container in one process: every guarantee holds as with a process for each task."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.faults.fire import KILLS, TOPOLOGY, Fire
from support.running.engine import Engine, wait_until
from support.running.live import TOPOLOGY as WORDS
from support.running.live import LiveWords
from support.running.watching import Watching

FUSED = "topology.fuse=container"
#: `make chaos` shoots at every process that is in the way, over both kinds of links
CHAOS = "CHAOS_KILLS" in os.environ
ROLES = ["tasks", "stream-manager", "executor"] if CHAOS else ["tasks"]
LINKS = ["unix", "zmq"] if CHAOS else ["unix"]

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300 + 60 * KILLS * len(ROLES)),
    pytest.mark.parametrize("link", LINKS),
]


def test_at_least_once_loses_nothing_when_processes_die_with_all_their_tasks(
    engine: Engine, tmp_path: Path, link: str
) -> None:
    fire = Fire(engine, tmp_path, "ATLEAST_ONCE", "fused, at least once", FUSED, f"transport.local={link}")
    for role in ROLES:
        assert fire.cell(role, hits=True).replayed > 0, f"{role}: the fault hit nothing in flight"
    fire.drain()
    verdict = fire.verdict()
    assert (verdict.lost, verdict.unexpected) == (0, 0)
    fire.end()


def test_at_most_once_repeats_nothing_and_what_was_lost_lies_in_the_reported_interval(
    engine: Engine, tmp_path: Path, link: str
) -> None:
    fire = Fire(engine, tmp_path, "ATMOST_ONCE", "fused, at most once", FUSED, f"transport.local={link}")
    for role in ROLES:
        fire.cell(role)
    fire.drain()
    lost, unexpected, repeated = fire.verdict()
    with Watching(engine, TOPOLOGY) as watching:
        status = watching.status()
    # the spout notes a number before it emits it
    shots = len(fire.recoveries)
    assert (unexpected, repeated) == (0, 0)
    assert status.lost_min <= lost <= status.lost_max + shots, (lost, status.lost_min, status.lost_max)
    fire.end()


def test_effectively_once_every_word_counts_once_when_tasks_come_and_go_and_the_process_dies(
    engine: Engine, tmp_path: Path, link: str
) -> None:
    (tmp_path / "brake").write_text("0.02")
    fused = (FUSED, f"transport.local={link}")
    settings = ("checkpoint.interval=500ms", "container.restart_reset=100ms", *fused)
    packing = ("--packing", "resource_compliant")  # puts what is new into containers that run
    words = LiveWords(engine, tmp_path, "EFFECTIVELY_ONCE", keys=20_000, settings=settings, more=packing)
    words.flow()
    with Watching(engine, WORDS) as watching:
        shared: dict[str, list[str]] = {}
        for one in watching.status().instances:
            shared.setdefault(one.process, []).append(one.label)
        assert sorted(shared) == ["tasks-1", "tasks-2"]
        lines = [f"{process}: {', '.join(labels)}" for process, labels in sorted(shared.items())]
        assert "\n".join(lines) in engine.ok("status", WORDS, "-v")
        for process, labels in shared.items():
            assert f"runs {labels[-1]}" in engine.ok("logs", WORDS, labels[-1]), process
        before = set(words.pids().values())
        for wanted in ("count=1", "count=3", "count=2"):
            assert words.update(wanted)["phase"] == "done"
            watching.recover(wanted)
        assert set(words.pids().values()) == before, "tasks come to processes that run, and leave them"
        for _ in range(KILLS - 1):
            run = watching.checkpoints().run
            watching.kill("tasks-")

            def another(before: int = run) -> bool:
                return watching.checkpoints().run > before

            wait_until(another, 60, "another run", watching.detail)
            watching.recover("a kill")
    words.rest()
    account = words.account()
    assert account == (0, account.words, account.words)
    words.end()
