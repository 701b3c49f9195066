"""Pace and Schedule: what a task does by the clock."""

from __future__ import annotations

from heronpy.instances.task.pace import Pace
from heronpy.instances.task.schedule import Schedule


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_call_runs_when_it_is_due_and_then_again() -> None:
    clock, seen = Clock(), list[float]()
    schedule = Schedule(clock)
    schedule.every(1.0, lambda: seen.append(clock.now))
    for now in (100.5, 101.0, 101.5, 102.25):
        clock.now = now
        schedule.run_due()
    assert seen == [101.0, 102.25]


def test_patience_ends_with_the_next_call_and_is_never_negative() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    assert schedule.patience(0.5) == 0.5
    schedule.every(2.0, lambda: None)
    schedule.every(0.25, lambda: None)
    assert schedule.patience(0.5) == 0.25
    assert schedule.patience(0.125) == 0.125
    clock.now += 10
    assert schedule.patience(0.5) == 0.0


def test_late_calls_do_not_pile_up() -> None:
    clock, seen = Clock(), list[float]()
    schedule = Schedule(clock)
    schedule.every(1.0, lambda: seen.append(clock.now))
    clock.now += 60
    for _ in range(5):
        schedule.run_due()
    assert seen == [160.0]
    assert schedule.patience(5.0) == 1.0


def test_chunks_grow_while_calls_are_short_and_shrink_when_they_are_long() -> None:
    pace = Pace()
    for _ in range(20):
        pace.measured(pace.chunk, pace.chunk * 1e-7)
    assert pace.chunk == 1024
    for _ in range(20):
        pace.measured(pace.chunk, pace.chunk * 0.1)
    assert pace.chunk == 1


def test_a_chunk_that_was_not_full_proves_nothing() -> None:
    pace = Pace()
    pace.measured(1, 0.0)
    assert pace.chunk == 2
    pace.measured(1, 0.0)
    assert pace.chunk == 2


def test_the_pace_is_smoothed() -> None:
    pace = Pace()
    pace.measured(10, 1.0)
    assert pace.seconds_per_call == 0.1
    pace.measured(10, 2.0)
    assert round(pace.seconds_per_call, 6) == 0.12
    pace.slow_down()
    assert (pace.chunk, round(pace.seconds_per_call, 6)) == (1, 0.12)


def test_calls_that_suddenly_block_are_made_one_at_a_time_from_then_on() -> None:
    pace = Pace()
    for _ in range(20):
        pace.measured(pace.chunk, pace.chunk * 1e-7)
    pace.measured(8, 8.0)
    assert pace.chunk == 1


def test_a_call_that_does_not_matter_wakes_nobody_and_is_made_with_the_next_turn() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    made: list[str] = []
    matters = [False]
    schedule.every(1.0, lambda: made.append("sample"), matters=lambda: matters[0])
    assert schedule.patience(5.0) == 5.0
    clock.now += 3.0
    schedule.run_due()
    matters[0] = True
    assert (made, schedule.patience(5.0)) == (["sample"], 1.0)
