"""Windows and timers behind restarts, and with keys that go from task to task: the same results, once."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pipelines.moving_keys import MovingKeys
from support.pipelines.window_script import SECOND, WindowScript, op_of

from heronpy.operators.failing import Failing
from heronpy.operators.stamped import Stamped
from heronpy.operators.timed_processing import TimedProcessing
from heronpy.operators.windows.windowing import Windowing, core_of, rules_of
from heronpy.pipeline import Context, Timer, agg
from heronpy.pipeline.graph import ProcessOp, Site, Step, WindowOp
from heronpy.pipeline.triggers import Trigger, after, at_count, at_watermark, every, in_turn
from heronpy.pipeline.windows import Windows, everything, sessions, sliding, tumbling

KEYS = "abc"
WINDOWS: dict[str, Windows] = {
    "tumbling": tumbling("7s"),
    "sliding": sliding("10s", every="5s"),
    "sessions": sessions("4s"),
    "everything": everything(),
}
TRIGGERS: dict[str, Trigger] = {
    "at_watermark": at_watermark(),
    "early": at_watermark(early=every("3s"), late=after("2s")),
    "in turn": in_turn(at_count(2), every("4s")),
}
AGGREGATES: dict[str, Any] = {
    "sum": agg.sum(lambda value: value),
    "max": agg.max(lambda value: value),
    "mean": agg.mean(lambda value: value / 3),
}

#: a record: key, event time in seconds and value
record = st.tuples(st.just("record"), st.sampled_from(KEYS), st.integers(0, 40), st.integers(1, 9))
#: one of the tasks hears of a watermark
advance = st.tuples(st.just("advance"), st.integers(0, 2), st.integers(0, 45))
moves = st.tuples(st.just("move"), st.integers(1, 3), st.integers(0, 99))
scripts = st.lists(st.one_of(record, record, record, advance, moves), max_size=40)


def play(keys: MovingKeys, script: list[Any], only: str = KEYS, *, moving: bool = True) -> list[Any]:
    """What was made; `only`: of the records of this key, in a task of its own that never stops."""
    watched = MovingKeys(lambda _: _Idle(), KEYS) if not moving else None
    for second, event in enumerate(script):
        keys.clock(second * SECOND)
        match event:
            case "record", key, time, value if key in only:
                keys.record(key, time * SECOND, value)
            case "advance", task, to:
                if watched is None:
                    keys.advance(task, to * SECOND)
                else:
                    watched.advance(task, to * SECOND)
                    keys.advance(0, watched.watermark_of(only))
            case "move", tasks, seed:
                (watched or keys).move(tasks, random.Random(seed))
    keys.finish()
    return keys.made


class _Idle:
    """A task that only the watermarks are of interest of."""

    def __init__(self) -> None:
        self.states: dict[Any, Any] = {}
        self.of_key: Any = None

    def reload(self) -> None: ...
    def clock(self, now: int) -> None: ...
    def advance(self, watermark: int) -> None: ...


def of(key: str, made: list[Any]) -> list[Any]:
    return [stamped for stamped in made if stamped.value.key == key]


def windowing(op: WindowOp) -> Callable[[Callable[[Any], None]], Windowing]:
    step = Step("windowed", op, (), bounded=True, site=Site("script.py", 1))
    return lambda out: Windowing(op, core_of(rules_of(op)), out, None, Failing(step), {})


@given(
    kind=st.sampled_from(sorted(WINDOWS)),
    trigger=st.sampled_from(sorted(TRIGGERS)),
    aggregate=st.sampled_from(sorted(AGGREGATES)),
    panes=st.sampled_from(["accumulating", "discarding", "retracting"]),
    lateness=st.sampled_from([0, 3 * SECOND]),
    script=scripts,
)
def test_windows_of_a_key_are_the_same_wherever_it_goes_and_whoever_crashes(
    kind: str, trigger: str, aggregate: str, panes: str, lateness: int, script: list[Any]
) -> None:
    how: dict[str, Any] = {"trigger": TRIGGERS[trigger], "panes": panes, "lateness": lateness}
    make = windowing(op_of(WINDOWS[kind], AGGREGATES[aggregate], **how))
    made = play(MovingKeys(make, KEYS), script)
    for key in KEYS:
        assert of(key, made) == play(MovingKeys(make, key), script, key, moving=False)


@dataclass
class Reminders:
    """How many a key has asked for."""

    given: int = 0


def remember(state: Reminders, seconds: int, context: Context[str]) -> Iterator[tuple[str, str]]:
    state.given += 1
    context.timer(context.timestamp + timedelta(seconds=seconds), str(seconds % 2))
    if seconds == 9:
        context.alarm("3s", "soon")
    if seconds == 8:
        context.cancel("1")
    if seconds == 7:
        context.clear()
    yield context.key, f"{seconds} late" if context.timestamp < context.watermark else str(seconds)


def remind(state: Reminders, timer: Timer, context: Context[str]) -> Iterator[tuple[str, str]]:
    yield context.key, f"{timer.tag} of {state.given} at {timer.at:%M:%S}"
    if timer.tag == "1" and state.given % 2:
        state.given += 1
        context.timer(timer.at + timedelta(seconds=5), "1")


def processing(ttl: int | None) -> Callable[[Callable[[Any], None]], TimedProcessing]:
    op = ProcessOp(Reminders, remember, remind, ttl)
    step = Step("remind", op, (), bounded=True, site=Site("script.py", 1), timed=True)
    return lambda out: TimedProcessing(op, out, {}, Failing(step), {}, timed=True)


@given(script=scripts, ttl=st.sampled_from([None, 6 * SECOND]))
def test_timers_of_a_key_fire_once_and_in_order_wherever_it_goes(script: list[Any], ttl: int | None) -> None:
    make = processing(ttl)
    made = play(MovingKeys(make, KEYS), script)
    for key in KEYS:
        alone = play(MovingKeys(make, key), script, key, moving=False)
        assert [s for s in made if s.value[0] == key] == alone


def test_timers_that_two_tasks_have_set_fire_in_one_task_though_nothing_tells_them_apart() -> None:
    """One number, one time, and keys that cannot be compared."""
    made: list[Any] = []
    both = processing(None)(made.extend)
    for key in ("a", 7):
        one = processing(None)(lambda _: None)
        one.take(0, [(key, Stamped(SECOND, 2))])
        both.states.update(pickle.loads(pickle.dumps(one.states)))
    both.reload()
    both.advance(3 * SECOND)
    assert [s.value for s in made] == [("a", "0 of 1 at 00:03"), (7, "0 of 1 at 00:03")]


@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
def test_what_is_kept_of_a_key_is_small(kind: str) -> None:
    script = WindowScript(op_of(WINDOWS[kind], agg.count()))
    script.record(SECOND, 1)
    assert len(pickle.dumps(script.step.states["k"], protocol=5)) < 300
