"""Engines that lack a rule of event time, caught by one small run of a pipeline; the real one passes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from support.tasks.faulty_links import StingyLinks
from support.watermarks.watermark_mutants import Patch, idle_without_credit, partials_kept_back

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.testing import PipelineTest
from heronpy.testing.pipelines import stand_in_master

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def counted(*, reads_late: bool) -> Pipeline:
    """Seconds from noon on, counted by the minute: in two stages unless late ones are read."""
    p = Pipeline("seconds")
    read = p.read(sources.items(list[int]()), name="seconds")
    timed = read.event_time(lambda second: NOON + timedelta(seconds=second), lag="0s", idle="30s")
    counts = timed.key_by(lambda _: "k").window(tumbling("1m")).count(name="count")
    counts.write(sinks.printed(), name="shown")
    if reads_late:
        counts.late.write(sinks.printed(), name="aside")
    return p


def counts_of(run: PipelineTest) -> list[int]:
    return [result.value for result in run.results("count")]


def behind_a_barrier(restart: Callable[[PipelineTest], None]) -> list[int]:
    """Two records, then all that the tasks had is what was saved or handed over, then a third."""
    with PipelineTest(counted(reads_late=False), par=2, splits=2) as run:
        run.feed("seconds", 1, 2)
        restart(run)
        run.feed("seconds", 3)
        run.finish("seconds")
        return counts_of(run)


def restored(run: PipelineTest) -> None:
    run.checkpoint()
    run.crash("count")


def scaled(run: PipelineTest) -> None:
    run.rescale("seconds", 1)


def without_credit() -> list[int]:
    """The task is not asked for five minutes, and then one of its splits is a moment late."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stand_in_master, "MemoryLinks", StingyLinks)
        settings = {"batch.tuples": 1, "credit.initial_tuples": 1}
        splits = {"seconds": ["eu", "us"]}
        with PipelineTest(counted(reads_late=True), splits=splits, now="18:00", settings=settings) as run:
            links = run._master._links
            assert isinstance(links, StingyLinks)
            run.feed("seconds", 1, split="us")
            run.feed("seconds", 2, split="eu")
            links.stingy = True
            run.feed("seconds", *range(50, 70), split="eu")
            run.advance("5m")
            assert run._tested.source("seconds").left > 0, "the task has no credit"
            links.stingy = False
            run.advance("5s")
            assert run._tested.source("seconds").left == 0
            run.feed("seconds", 3, split="us")
            run.finish("seconds")
            return counts_of(run)


#: what is wrong, a run that shows it, what that counts if nothing is wrong, and what it counts then
MUTANTS: dict[str, tuple[Patch, Callable[[], list[int]], list[int], list[int]]] = {
    "partials not flushed at a barrier": (
        partials_kept_back,
        functools.partial(behind_a_barrier, restored),
        [3],
        [1],
    ),
    "partials not flushed at a marker": (
        partials_kept_back,
        functools.partial(behind_a_barrier, scaled),
        [3],
        [2],
    ),
    "idle while without credit": (idle_without_credit, without_credit, [13, 10], [12, 10]),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_an_engine_that_lacks_a_rule_is_caught_and_the_real_one_is_not(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant, run, right, wrong = MUTANTS[name]
    assert run() == right
    mutant(monkeypatch)
    assert run() == wrong
