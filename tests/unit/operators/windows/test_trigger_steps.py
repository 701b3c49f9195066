"""When each trigger speaks, to the second: tables of what happens to one window.

A script is what happens in which second: r is a record, w the watermark at the end of the window; behind it
records are late. The clock ticks every second, before the rest of that second.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest

from heronpy.operators.windows import trigger_steps
from heronpy.operators.windows.trigger_steps import WindowEvent
from heronpy.pipeline.triggers import (
    Trigger,
    after,
    all_of,
    any_of,
    at_count,
    at_watermark,
    every,
    in_turn,
)

SECOND = 1_000_000
#: when each script ends
HORIZON = 60


class Asked:
    """One window with its trigger, as a core asks it: the state is renewed behind each pane."""

    def __init__(self, trigger: Trigger, *, ticks: bool) -> None:
        self._trigger, self.state = trigger, trigger_steps.begin(trigger)
        #: whether the clock comes every second; else only when the trigger wants it
        self._ticks = ticks
        self._opened = False
        self.passed = False
        self.now = 0
        self.spoken: list[int] = []

    def play(self, script: str) -> None:
        for event in script.split():
            self.wait(int(event[1:]))
            if event[0] == "w":
                self.passed = True
                if self._opened:  # a window that is not there is told nothing
                    self._say("watermark")
            else:
                self._opened = True
                self._say("record")

    def wait(self, until: int) -> None:
        while self.now < until:
            self.now += 1
            if self._ticks or self.due():
                self._say("clock")
            assert not self.due(), "the clock would come again at once"

    def join(self, parts: list[Asked]) -> None:
        """Becomes the window that others have become."""
        self._opened, self.now = True, max(part.now for part in parts)
        for part in parts:
            part.wait(self.now)
        self.state = trigger_steps.merged(self._trigger, [part.state for part in parts], self.passed)

    def due(self) -> bool:
        deadline = trigger_steps.deadline(self._trigger, self.state)
        return deadline is not None and deadline <= self.now * SECOND

    def _say(self, kind: Literal["record", "watermark", "clock"]) -> None:
        event = WindowEvent(kind, self.now * SECOND, self.passed)
        fires, self.state = trigger_steps.step(self._trigger, event, self.state)
        if fires:
            self.spoken.append(self.now)
            self.state = trigger_steps.renewed(self._trigger, self.state)


#: (trigger, script, seconds at which it speaks)
Case = tuple[Trigger, str, list[int]]

ALONE: dict[str, Case] = {
    "count": (at_count(3), "r1 r2 r3 r4 r5 r6 r7", [3, 6]),
    "count, whatever the watermark does": (at_count(2), "r1 w2 r3 r4 r5", [3, 5]),
    "after the first record of the pane, not the last": (after("10s"), "r2 r5 r9 r20 r21", [12, 30]),
    "after, and a record at that instant": (after("10s"), "r2 r12", [12, 22]),
    "every, if there is something new": (every("10s"), "r3 r7 r12 r45", [10, 20, 50]),
    "every, and a record at that instant": (every("10s"), "r10", [20]),
    "watermark, then each late record": (at_watermark(), "r1 r2 w5 r7 r8", [5, 7, 8]),
    "watermark, and all records are late": (at_watermark(), "w1 r3 r4", [3, 4]),
    "early every": (at_watermark(early=every("10s")), "r1 r12 w25 r26", [10, 20, 25, 26]),
    "early after, overtaken by the watermark": (at_watermark(early=after("10s")), "r1 w5 r30", [5, 30]),
    "early count": (at_watermark(early=at_count(2)), "r1 r2 r3 w5 r6", [2, 5, 6]),
    "late after": (at_watermark(late=after("10s")), "r1 w5 r7 r9 r30", [5, 17, 40]),
    "late every": (at_watermark(late=every("10s")), "r1 w5 r7 r31", [5, 10, 40]),
    "late count": (at_watermark(late=at_count(2)), "r1 w5 r7 r9 r11 r13", [5, 9, 13]),
    "late count, and all records are late": (at_watermark(late=at_count(2)), "w1 r3 r4 r5", [4]),
    "late does not go on with what early has counted": (
        at_watermark(early=at_count(3), late=at_count(3)),
        "r1 r2 w5 r6 r7 r8",
        [5, 8],
    ),
}

SEVERAL: dict[str, Case] = {
    "any: the first speaks, and both begin anew": (
        any_of(at_count(3), after("10s")),
        "r1 r2 r3 r4 r20 r21 r22",
        [3, 14, 22],
    ),
    "any: watermark or count": (any_of(at_watermark(), at_count(2)), "r1 r2 r3 w5 r6 r7", [2, 5, 6, 7]),
    "all: the delay is the last": (all_of(at_count(3), after("10s")), "r1 r2 r3", [11]),
    "all: the count is the last": (all_of(at_count(3), after("10s")), "r1 r15 r20", [20]),
    "all: both begin anew behind a pane": (
        all_of(at_count(3), after("10s")),
        "r1 r2 r3 r12 r13 r30",
        [11, 30],
    ),
    "all: the watermark is not enough": (all_of(at_watermark(), at_count(3)), "r1 w5 r6 r7 r8 r10", [7]),
    "all: the count is not enough, then late ones": (
        all_of(at_watermark(), at_count(3)),
        "r1 r2 r3 w5 r6 r7 r8",
        [5, 8],
    ),
    "all: by the clock and by the watermark": (all_of(every("10s"), at_watermark()), "r1 w15 r16", [15, 20]),
    "in turn: the last one repeats": (
        in_turn(at_count(1), at_count(3), after("10s")),
        "r1 r2 r3 r4 r5 r7 r20",
        [1, 4, 15, 30],
    ),
    "in turn: early panes are no end of the first": (
        in_turn(at_watermark(early=at_count(2)), at_count(3)),
        "r1 r2 r3 r4 w5 r6 r7 r8 r9",
        [2, 4, 5, 8],
    ),
    "in turn: the watermark comes before its turn": (
        in_turn(at_count(2), at_watermark()),
        "r1 w2 r3 r4 r5",
        [3, 4, 5],
    ),
    "in turn within in turn": (
        in_turn(in_turn(at_count(1), at_count(2)), at_count(3)),
        "r1 r2 r3 r4 r5 r6 r7 r8 r9",
        [1, 3, 6, 9],
    ),
    "in turn: any, then each": (
        in_turn(any_of(at_count(3), after("10s")), at_count(1)),
        "r1 r2 r15 r16",
        [11, 15, 16],
    ),
    "in turn: all, then each": (
        in_turn(all_of(at_count(1), after("10s")), at_count(1)),
        "r1 r2 r15 r16",
        [11, 15, 16],
    ),
    "until: the end counts on behind panes, and all begins anew behind it": (
        at_count(2).until(at_count(5)),
        "r1 r2 r3 r4 r5 r6 r7 r8 r9 r10",
        [2, 4, 5, 7, 9, 10],
    ),
    "until: panes do not put off its end": (
        in_turn(at_count(1).until(after("10s")), at_count(3)),
        "r1 r5 r12 r13 r14",
        [1, 5, 11, 14],
    ),
    "until the watermark, then another": (
        in_turn(every("10s").until(at_watermark()), at_count(2)),
        "r1 r12 w25 r26 r27",
        [10, 20, 25, 27],
    ),
}


@pytest.mark.parametrize("ticks", [True, False], ids=["each second", "at deadlines"])
@pytest.mark.parametrize("case", ALONE | SEVERAL)
def test_a_trigger_speaks_at_these_seconds(case: str, ticks: bool) -> None:
    """Also where the clock comes only when the trigger wants it: its deadlines leave nothing out."""
    trigger, script, expected = (ALONE | SEVERAL)[case]
    asked = Asked(trigger, ticks=ticks)
    asked.play(script)
    asked.wait(HORIZON)
    assert asked.spoken == expected


#: (trigger, what happened to the windows, whether the watermark has passed their union, script, seconds)
MERGED: dict[str, tuple[Trigger, list[str], bool, str, list[int]]] = {
    "counts add up": (at_count(4), ["r1 r2", "r2"], False, "r3", [3]),
    "the first deadline of after": (after("10s"), ["r1", "r4"], False, "r5", [11]),
    "the first deadline of every": (every("10s"), ["r4", "r8"], False, "r11", [10, 20]),
    "one has no deadline": (after("10s"), ["r1 r11", "r1 w12"], False, "r13", [21]),
    "early parts of a window that is open": (at_watermark(early=at_count(3)), ["r1", "r2"], False, "r3", [3]),
    "late parts of a window that is late": (
        at_watermark(late=at_count(3)),
        ["r1 w2 r3", "r1 w2 r4"],
        True,
        "r5",
        [5],
    ),
    "a late part of a window that is open: late ones are no early ones": (
        at_watermark(early=at_count(3), late=at_count(3)),
        ["r1 w2 r3 r4", "r4"],
        False,
        "r5 r6 w9 r10",
        [6, 9],
    ),
    "all parts were late, the window is open": (
        at_watermark(early=at_count(2)),
        ["r1 w2"],
        False,
        "r5 r6 w9 r10",
        [6, 9, 10],
    ),
    "any: each adds up": (any_of(at_count(3), after("10s")), ["r1", "r2"], False, "r3 r4", [3, 14]),
    "all: what one has heard counts": (all_of(at_count(2), after("10s")), ["r1 r2", "r3"], False, "r4", [11]),
    "all: each may have heard another": (
        all_of(at_count(2), after("10s")),
        ["r1", "r11 r12"],
        False,
        "r13",
        [13],
    ),
    "all: a watermark at the end of a part is none at the end of the window": (
        all_of(at_watermark(), at_count(3)),
        ["r1 w2", "r3"],
        False,
        "r4 w9",
        [9],
    ),
    "all: a watermark at the end of the window": (
        all_of(at_watermark(), at_count(3)),
        ["r1 w2", "r1 w2"],
        True,
        "r4",
        [4],
    ),
    "in turn: the furthest, and what it has": (
        in_turn(at_count(2), at_count(3)),
        ["r1 r2 r3", "r3"],
        False,
        "r4 r5",
        [5],
    ),
    "in turn: both are at the same": (
        in_turn(at_count(1), at_count(3)),
        ["r1 r2", "r3 r4"],
        False,
        "r5",
        [5],
    ),
    "until: both sides add up": (
        at_count(4).until(at_count(7)),
        ["r1 r2", "r3"],
        False,
        "r4 r5 r6 r7",
        [4, 7],
    ),
}


@pytest.mark.parametrize("ticks", [True, False], ids=["each second", "at deadlines"])
@pytest.mark.parametrize("case", MERGED)
def test_a_window_that_others_have_become_speaks_at_these_seconds(case: str, ticks: bool) -> None:
    trigger, before, passed, script, expected = MERGED[case]
    parts = [Asked(trigger, ticks=ticks) for _ in before]
    for part, happened in zip(parts, before, strict=True):
        part.play(happened)
    union = Asked(trigger, ticks=ticks)
    union.passed = passed
    union.join(parts)
    union.play(script)
    union.wait(HORIZON)
    assert union.spoken == expected


#: (trigger, script, the second of the next deadline)
DEADLINES: dict[str, tuple[Trigger, str, int | None]] = {
    "count": (at_count(3), "r1", None),
    "after": (after("10s"), "r2 r5", 12),
    "every": (every("10s"), "r2 r5", 10),
    "nothing new": (every("10s"), "r2 r5 w11", None),
    "watermark": (at_watermark(), "r1", None),
    "early": (at_watermark(early=every("10s")), "r1", 10),
    "no early one behind the watermark": (at_watermark(early=every("10s")), "r1 w2 r3", None),
    "late": (at_watermark(late=after("10s")), "r1 w2 r3", 13),
    "any: the first": (any_of(after("10s"), every("4s"), at_count(9)), "r1", 4),
    "all: the first": (all_of(after("10s"), every("4s"), at_count(9)), "r1", 4),
    "all: of those that have not spoken": (all_of(after("10s"), every("4s"), at_count(9)), "r1 r5", 11),
    "in turn: of the one whose turn it is": (in_turn(at_count(1), every("10s")), "r1", None),
    "in turn: of the next one": (in_turn(at_count(1), every("10s")), "r1 r2", 10),
    "until: of what repeats": (every("4s").until(after("10s")), "r1", 4),
    "until: of the end": (every("4s").until(after("10s")), "r1 w5", 11),
}


@pytest.mark.parametrize("case", DEADLINES)
def test_the_clock_is_wanted_at_this_second(case: str) -> None:
    trigger, script, expected = DEADLINES[case]
    asked = Asked(trigger, ticks=False)
    asked.play(script)
    deadline = trigger_steps.deadline(trigger, asked.state)
    assert deadline == (None if expected is None else expected * SECOND)


#: (trigger, script, the state behind it)
STATES: dict[str, tuple[Trigger, str, Any]] = {
    "a count begins anew": (at_count(2), "r1 r2", 0),
    "a deadline begins anew": (after("1s"), "r1 w2", None),
    "the watermark stays where it is": (
        at_watermark(early=at_count(2), late=at_count(3)),
        "r1 w2 r3",
        (True, 1),
    ),
    "a late count begins anew": (at_watermark(late=at_count(2)), "r1 w2 r3 r4", (True, 0)),
    "an early count begins anew": (at_watermark(early=at_count(2)), "r1 r2", (False, 0)),
    "without an early trigger nothing is renewed": (
        any_of(at_watermark(), at_count(1)),
        "r1",
        ((False, None), 0),
    ),
    "all: none has spoken": (all_of(at_count(1), at_count(2)), "r1 r2", ((False, 0), (False, 0))),
    "in turn: the turn stays": (in_turn(at_count(1), at_count(2)), "r1 r2 r3", (1, 0)),
    "until: the end goes on": (at_count(1).until(at_count(5)), "r1 r2", (0, 2)),
}


@pytest.mark.parametrize("case", STATES)
def test_behind_a_pane_what_is_about_the_window_stays(case: str) -> None:
    trigger, script, expected = STATES[case]
    asked = Asked(trigger, ticks=True)
    asked.play(script)
    assert asked.state == expected


def test_what_is_no_trigger_of_the_builder_is_refused() -> None:
    event = WindowEvent("record", 0, passed=False)
    for refused in (
        lambda: trigger_steps.step(Trigger(), event, None),
        lambda: trigger_steps.merged(Trigger(), [None], passed=False),
    ):
        with pytest.raises(TypeError, match=r"^Trigger\(\) is no trigger of heronpy.pipeline.triggers$"):
            refused()
