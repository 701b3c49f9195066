"""Losses: an interval that outlives those who noticed, and knows of those who died together."""

from __future__ import annotations

import msgspec
from support.tasks.plans import edge, plan_of

from heronpy.kernel.master.knowledge.tuple_losses import SLACK, TupleLosses
from heronpy.kernel.protocol import InstanceBeat, ProcessBeat

PLAN = plan_of(edge("shuffle"), par=2)
EMITTER = PLAN.tasks[0].id
READERS = [task.id for task in PLAN.tasks if task.component != PLAN.tasks[0].component]


def beat(task: int, incarnation: int, **counts: int) -> ProcessBeat:
    """Of a process with one task."""
    instance = InstanceBeat(task=task, **counts)  # type: ignore[arg-type]
    return ProcessBeat(slot=task, incarnation=incarnation, instances=[instance])


def test_counts_of_all_incarnations_are_added_up() -> None:
    losses = TupleLosses(PLAN)
    reader = READERS[0]
    losses.on_beat(beat(reader, 1, missing=5, maybe_lost=100), 1.0)
    losses.on_beat(beat(reader, 2, missing=1), 20.0)
    losses.on_beat(beat(reader, 1, missing=900), 21.0)
    losses.on_beat(beat(reader, 3, missing=2, maybe_lost=10), 40.0)
    assert losses.of(reader) == (8, 118)
    assert losses.of(EMITTER) == (0, 0)


def test_an_emitter_that_dies_alone_is_counted_by_its_readers() -> None:
    losses = TupleLosses(PLAN)
    losses.on_beat(beat(EMITTER, 1, exposed=1000), 1.0)
    for reader in READERS:
        losses.on_beat(beat(reader, 1), 1.0)
    losses.on_beat(beat(EMITTER, 2), 3.0)
    assert losses.of(EMITTER) == (0, 0)


def test_what_was_between_two_that_died_together_is_what_the_emitter_said() -> None:
    for order in ([EMITTER, READERS[0]], [READERS[0], EMITTER]):
        losses = TupleLosses(PLAN)
        losses.on_beat(beat(EMITTER, 1, exposed=1000), 1.0)
        losses.on_beat(beat(READERS[0], 1, missing=3), 1.0)
        for at, task in enumerate(order):
            losses.on_beat(beat(task, 2, exposed=1), 2.0 + at)
        assert losses.of(EMITTER) == (0, 1000)
        assert losses.of(READERS[0]) == (3, 3)


def test_a_death_is_counted_once_and_an_old_one_not_with_a_new_one() -> None:
    losses = TupleLosses(PLAN)
    losses.on_beat(beat(EMITTER, 1, exposed=1000), 1.0)
    for reader in READERS:
        losses.on_beat(beat(reader, 1), 1.0)
        losses.on_beat(beat(reader, 2), 2.0)
    losses.on_beat(beat(EMITTER, 2, exposed=70), 3.0)
    losses.on_beat(beat(EMITTER, 2, exposed=70), 50.0)
    losses.on_beat(beat(EMITTER, 3), 50.0 + 3 * SLACK)
    assert losses.of(EMITTER) == (0, 1000)


def test_a_successor_that_comes_late_still_died_with_its_reader() -> None:
    losses = TupleLosses(PLAN)
    losses.on_beat(beat(EMITTER, 1, exposed=1000), 1.0)
    losses.on_beat(beat(READERS[0], 1), 1.0)
    losses.on_beat(beat(READERS[0], 2), 2.0)
    losses.on_beat(beat(EMITTER, 2), 60.0)
    assert losses.of(EMITTER) == (0, 1000)


def test_a_reader_that_comes_back_late_still_died_with_all_the_emitters_lives_meanwhile() -> None:
    losses = TupleLosses(PLAN)
    losses.on_beat(beat(EMITTER, 1, exposed=1000), 1.0)
    losses.on_beat(beat(READERS[0], 1), 1.0)
    losses.on_beat(beat(EMITTER, 2, exposed=70), 2.0)
    losses.on_beat(beat(EMITTER, 3, exposed=8), 3.0)
    assert losses.of(EMITTER) == (0, 0), "its readers may have counted"
    losses.on_beat(beat(READERS[0], 2), 60.0)
    assert losses.of(EMITTER) == (0, 1070)
    losses.on_beat(beat(READERS[0], 3), 61.0)
    assert losses.of(EMITTER) == (0, 1070)


def test_a_death_of_a_process_is_that_of_its_tasks_so_what_was_between_them_may_be_lost() -> None:
    losses, reader = TupleLosses(PLAN), READERS[0]

    def together(incarnation: int, **counts: int) -> ProcessBeat:
        emitter = InstanceBeat(task=EMITTER, **counts)  # type: ignore[arg-type]
        return ProcessBeat(slot=1, incarnation=incarnation, instances=[emitter, InstanceBeat(task=reader)])

    losses.on_beat(together(1, exposed=1000), 1.0)
    losses.on_beat(together(2), 3.0)
    losses.on_beat(together(1, exposed=5), 4.0)
    assert (losses.of(EMITTER), losses.of(reader)) == ((0, 1000), (0, 0))


def test_who_has_handed_over_takes_nothing_along() -> None:
    losses = TupleLosses(PLAN)
    for task in (EMITTER, READERS[0]):
        losses.on_beat(beat(task, 1, exposed=1000), 1.0)
    losses.planned = {EMITTER: 1, READERS[0]: 1}
    for task in (EMITTER, READERS[0]):
        losses.on_beat(beat(task, 2, exposed=70), 3.0)
    assert losses.of(EMITTER) == losses.of(READERS[0]) == (0, 0)
    # … and their successors die like anybody else
    for task in (EMITTER, READERS[0]):
        losses.on_beat(beat(task, 3), 5.0)
    assert losses.of(EMITTER) == (0, 70)


def test_a_task_with_the_id_of_one_that_has_retired_begins_with_nothing() -> None:
    losses, reader = TupleLosses(PLAN), READERS[-1]
    losses.on_beat(beat(reader, 1, missing=5, exposed=100), 1.0)
    without = msgspec.structs.replace(PLAN, tasks=tuple(task for task in PLAN.tasks if task.id != reader))
    losses.use_plan(without)
    losses.on_beat(beat(reader, 1, missing=5, exposed=100), 2.0)
    assert losses.of(reader) == (0, 0)
    losses.use_plan(PLAN)
    losses.on_beat(beat(reader, 2), 3.0)
    assert losses.of(reader) == (0, 0)
