"""Many keys that are due at once have their turn in portions; stages behind are told when all have had it."""

from __future__ import annotations

from typing import Any

from support.pipelines.window_script import SECOND, WindowScript, op_of

from heronpy import Pipeline
from heronpy.operators.flowing import KEYS_AT_ONCE
from heronpy.operators.stage_logic import StageLogic
from heronpy.operators.stamped import Stamped
from heronpy.pipeline import Context, Timer, sinks, sources, tumbling
from heronpy.pipeline.triggers import every
from heronpy.planner.planning import planned

KEYS = 5 * KEYS_AT_ONCE + 1


def test_windows_of_many_keys_close_in_portions() -> None:
    script = WindowScript(op_of(tumbling("10s")))
    for key in range(KEYS):
        script.record(SECOND, key, key)
    made = []
    for _ in script.step.advancing(10 * SECOND):
        made.append(len(script.made))
        assert script.step.watermark < 10 * SECOND
    assert made == [KEYS_AT_ONCE * portion for portion in range(1, 6)]
    assert script.step.watermark == 10 * SECOND
    assert [(result.key, result.value) for result in script.results()] == [(key, key) for key in range(KEYS)]


def test_windows_of_many_keys_speak_by_the_clock_in_portions() -> None:
    script = WindowScript(op_of(tumbling("10s"), trigger=every("1m")))
    for key in range(KEYS):
        script.record(SECOND, key, key)
    made = [len(script.made) for _ in script.step.clocking(60 * SECOND)]
    assert made == [KEYS_AT_ONCE * portion for portion in range(1, 6)]
    assert [(result.key, result.value) for result in script.results()] == [(key, key) for key in range(KEYS)]


def remember(state: list[int], record: int, context: Context[int]) -> list[Any]:
    state.append(record)
    context.timer(context.timestamp)
    return []


def remind(state: list[int], timer: Timer, context: Context[int]) -> list[tuple[int, list[int]]]:
    return [(context.key, list(state))]


def test_a_stage_says_how_far_it_has_come_when_all_its_timers_have_fired() -> None:
    p = Pipeline("timers")
    timed = p.read(sources.items([0])).event_time(lambda second: second, unit="s", lag="0s")
    told = timed.key_by(lambda number: number).process(list[int], remember, on_timer=remind, name="told")
    told.rebalance().map(str, name="shown").write(sinks.collected())
    logic = StageLogic(planned(p.graph()), "told")
    logic.take("told", 0, [(key, Stamped(5 * SECOND, key)) for key in range(KEYS)])
    pauses = 0
    for _ in logic.advancing_all(9 * SECOND):
        pauses += 1
        assert logic.lowest is not None
        assert logic.lowest[0] < 9 * SECOND
    assert pauses == 5
    assert logic.lowest == (9 * SECOND, False)
    (rows,) = logic.outbox.values()
    assert [row.value for row in rows] == [(key, [key]) for key in range(KEYS)]


def wait(state: list[int], record: int, context: Context[int]) -> list[Any]:
    state.append(record)
    context.alarm("10s")
    return []


def test_alarms_of_many_keys_ring_in_portions_and_records_between_ring_none() -> None:
    p = Pipeline("alarms")
    keyed = p.read(sources.items([0])).key_by(lambda number: number)
    told = keyed.process(list[int], wait, on_timer=remind, name="told")
    told.rebalance().map(str, name="shown").write(sinks.collected())
    logic = StageLogic(planned(p.graph()), "told")
    logic.take("told", 0, [(key, key) for key in range(KEYS)])
    logic.tell(10 * SECOND)
    assert logic.due == 10 * SECOND
    assert not any(logic.outbox.values())
    assert sum(1 for _ in logic.clocking(10 * SECOND)) == 5
    (rows,) = logic.outbox.values()
    assert rows == [(key, [key]) for key in range(KEYS)]
    assert logic.due is None
