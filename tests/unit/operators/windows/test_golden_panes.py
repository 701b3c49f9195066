"""The golden panes on the window step alone, and what it does at their edges."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support.pipelines.golden_panes import (
    GOLDEN,
    GUESSED,
    MINUTES,
    RECORDS,
    SESSIONS,
    TEN_MINUTES,
    Golden,
    fixed,
    table,
)
from support.pipelines.window_script import WindowScript, at, op_of, shown

from heronpy.operators.failing import StepFailed
from heronpy.pipeline import agg
from heronpy.pipeline.times import END
from heronpy.pipeline.triggers import after, all_of, any_of, at_count, at_watermark, every, in_turn
from heronpy.pipeline.windows import everything, sessions, sliding


def played(windows: Any, watermarks: list[tuple[str, str]], **how: Any) -> tuple[WindowScript, list[Any]]:
    """Everything at its time of arrival; what was shown, each with the time at which it was."""
    script = WindowScript(op_of(windows, **how))
    events: list[tuple[int, int, Any]] = [(at(minute), 0, None) for minute in MINUTES]
    events += [(at(when), 1, at(watermark)) for when, watermark in watermarks]
    events += [(at(arrival), 2, (at(time), value)) for time, arrival, value in RECORDS]
    panes: list[Any] = []
    for now, kind, what in sorted(events, key=lambda event: event[:2]):
        script.step.clock(now)
        if kind == 1:
            script.step.advance(what)
        elif kind == 2:
            script.record(*what)
        panes += [(now, result) for result in script.results()[len(panes) :]]
    script.step.advance(END)
    return script, [*panes, *((END, result) for result in script.results()[len(panes) :])]


@pytest.mark.parametrize("example", GOLDEN)
def test_an_example_shows_its_panes(example: str) -> None:
    windows, watermarks, how, expected = GOLDEN[example]
    script, panes = played(windows, watermarks, **how)
    assert table(panes) == expected
    late = [stamped.value for stamped in script.aside]
    assert late == ([9] if example.startswith("4b") else [])


def test_sessions_take_back_what_they_have_become_part_of() -> None:
    windows, watermarks, how, expected = SESSIONS
    _, panes = played(windows, watermarks, **how)
    assert table(panes, ends=True) == expected


#: windows, watermarks, how, and what is shown when: triggers that are made of others
COMPOSITES: dict[str, Golden] = {
    "any of two": (
        everything(),
        [],
        {"trigger": any_of(at_count(2), every("1m")), "panes": "discarding"},
        ["12:05:39: 12e", "12:06:39: 7e", "12:07:19: 11e", "12:08:39: 17e", "12:10: 1e"],
    ),
    "all of two": (
        fixed,
        [],
        {"trigger": all_of(at_count(2), every("1m"))},
        [
            "12:06:13: 12:02 10e",
            "12:08:19: 12:00 14e",
            "12:08:39: 12:06 11e",
            "end: 12:02 18o, 12:04 4o, 12:06 12o",
        ],
    ),
    "all of a count and the watermark": (
        fixed,
        GUESSED,
        {"trigger": all_of(at_watermark(), at_count(2)), "lateness": TEN_MINUTES},
        ["12:07:30: 12:02 18o", "12:08:19: 12:00 14l", "12:09:30: 12:06 12o", "end: 12:04 4l"],
    ),
    "in turn": (
        fixed,
        [],
        {"trigger": in_turn(at_count(1), every("1m"))},
        [
            "12:05:19: 12:00 5e",
            "12:05:39: 12:02 7e",
            "12:06:39: 12:04 4e",
            "12:07: 12:02 10e",
            "12:07:19: 12:06 3e",
            "12:08: 12:02 18e",
            "12:09: 12:00 14e, 12:06 11e",
            "12:10: 12:06 12e",
        ],
    ),
    "each for a minute, then at the watermark": (
        fixed,
        GUESSED,
        {"trigger": in_turn(at_count(1).until(after("1m")), at_watermark()), "lateness": TEN_MINUTES},
        [
            "12:05:19: 12:00 5e",
            "12:05:39: 12:02 7e",
            "12:06:13: 12:02 10e",
            "12:06:39: 12:04 4e",
            "12:07:19: 12:06 3e",
            "12:07:30: 12:02 18o",
            "12:08: 12:04 4o",
            "12:08:19: 12:00 14l",
            "12:09:30: 12:06 12o",
        ],
    ),
    "late ones by the minute": (
        fixed,
        GUESSED,
        {"trigger": at_watermark(late=after("1m")), "lateness": TEN_MINUTES},
        [
            "12:06: 12:00 5o",
            "12:07:30: 12:02 18o",
            "12:08: 12:04 4o",
            "12:09:30: 12:00 14l, 12:06 12o",
        ],
    ),
    "late ones two by two": (
        fixed,
        GUESSED,
        {"trigger": at_watermark(late=at_count(2)), "lateness": TEN_MINUTES},
        [
            "12:06: 12:00 5o",
            "12:07:30: 12:02 18o",
            "12:08: 12:04 4o",
            "12:09:30: 12:06 12o",
            "end: 12:00 14l",
        ],
    ),
}


@pytest.mark.parametrize("example", COMPOSITES)
def test_a_trigger_of_several_shows_its_panes(example: str) -> None:
    windows, watermarks, how, expected = COMPOSITES[example]
    _, panes = played(windows, watermarks, **how)
    assert table(panes) == expected


@pytest.mark.parametrize("windows", [fixed, sliding("4m", every="2m")])
def test_what_takes_a_pane_back_names_that_pane(windows: Any) -> None:
    script = WindowScript(op_of(windows, lateness=TEN_MINUTES, panes="retracting"))
    script.record(at("12:00:26"), 5)
    script.step.advance(at("12:02"))
    script.record(at("12:01:26"), 9)
    panes = [r for r in script.results() if shown(r.window.end) == "12:02"]
    assert [(r.value, r.retracts, r.pane.index, r.pane.timing) for r in panes] == [
        (5, False, 0, "on_time"),
        (5, True, 0, "on_time"),
        (14, False, 1, "late"),
    ]


def test_an_alarm_is_kept_when_the_window_that_had_the_first_one_closes() -> None:
    """Both windows would speak 10 s behind their first record; the first is closed 3 s before that."""
    script = WindowScript(op_of(fixed, trigger=at_watermark(early=after("10s"))))
    script.step.clock(at("12:05"))
    script.record(at("12:01"), 1)
    script.step.clock(at("12:05:05"))
    script.record(at("12:03"), 2)
    script.step.clock(at("12:05:07"))
    script.step.advance(at("12:02"))
    script.step.clock(at("12:05:11"))
    script.step.clock(at("12:05:15"))
    assert [(r.value, r.pane.timing) for r in script.results()] == [(1, "on_time"), (2, "early")]


def test_a_session_that_goes_on_is_not_over_because_a_part_of_it_was() -> None:
    """The second record makes the session longer, when the watermark was at its end."""
    trigger = all_of(at_watermark(), at_count(2))
    script = WindowScript(op_of(sessions("10s"), trigger=trigger, lateness=TEN_MINUTES))
    script.record(at("12:00:00"), 1)
    script.step.advance(at("12:00:10"))
    script.record(at("12:00:05"), 2)
    assert script.results() == []
    script.step.advance(at("12:00:15"))
    assert [(r.value, r.pane.timing, shown(r.window.end)) for r in script.results()] == [
        (3, "on_time", "12:00:15")
    ]


def test_an_error_in_a_pane_that_the_clock_asks_for_names_step_and_key() -> None:
    broken = dataclasses.replace(agg.count(), finish=lambda count: 1 // (count - 1))
    script = WindowScript(op_of(fixed, broken, trigger=every("1m")))
    script.step.clock(at("12:05"))
    script.record(at("12:01"), 1)
    with pytest.raises(StepFailed, match=r"^step 'windowed' failed at .*ZeroDivision.*, for the key 'k'$"):
        script.step.clock(at("12:06"))


def test_what_is_found_over_all_time_is_of_the_present() -> None:
    """The record is older than the watermark, which a window behind this one has seen too."""
    script = WindowScript(op_of(everything(), trigger=every("1m")))
    script.step.advance(at("12:04"))
    script.record(at("12:01"), 1)
    script.step.clock(at("12:06"))
    script.record(at("12:02"), 1)
    script.step.advance(at("12:05"))
    script.step.advance(END)
    assert [stamped.time for stamped in script.made] == [at("12:04"), at("12:05")]


def test_what_is_late_and_read_by_no_step_is_counted_with_a_reason() -> None:
    script = WindowScript(op_of(fixed), reads_late=False)
    script.step.advance(at("12:06"))
    script.record(at("12:01:26"), 9)
    assert script.aside == []
    assert script.step.late.dropped == 1
    assert script.step.late.line("sum") == (
        "sum: dropped 1 late record (latest 4m behind; lateness='5m' would have kept 1)"
    )
