"""Triggers carried out: `step(trigger, event, state)` says whether the window speaks. Pure; a state is a few
integers in tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from heronpy.pipeline.triggers import (
    AfterDelay,
    AllOf,
    AnyOf,
    AtCount,
    AtWatermark,
    Every,
    InTurn,
    Trigger,
    Until,
    speaks_before_end,
)

#: what a step says: nothing, speak, speak for the last time (of a trigger inside another)
NO, FIRES, DONE = 0, 1, 2
#: a late trigger that was not given
EACH_RECORD: Final = AtCount(1)


class WindowEvent(NamedTuple):
    """Something that happens to a window."""

    kind: Literal["record", "watermark", "clock"]
    #: processing time, in microseconds
    now: int
    #: the watermark has passed the end of the window
    passed: bool


def begin(trigger: Trigger) -> Any:
    """The state of a trigger before the first event."""
    match trigger:
        case AtCount():
            return 0
        case AtWatermark(early=early):
            return False, None if early is None else begin(early)
        case AnyOf(parts=parts):
            return tuple(map(begin, parts))
        case AllOf(parts=parts):
            return tuple((False, begin(part)) for part in parts)
        case InTurn(parts=parts):
            return 0, begin(parts[0])
        case Until(repeated=repeated, end=end):
            return begin(repeated), begin(end)
    return None  # no deadline


def step(trigger: Trigger, event: WindowEvent, state: Any) -> tuple[int, Any]:
    """Whether it speaks, and its new state. Of the top level, `renewed` follows when it has spoken."""
    match trigger:
        case AtCount(n=n):
            count = state + (event.kind == "record")
            return DONE if event.kind == "record" and count >= n else NO, count
        case Every() | AfterDelay():
            return _deadline_step(trigger, event, state)
        case AtWatermark():
            return _watermark_step(trigger, event, state)
        case AnyOf(parts=parts):
            steps = [step(part, event, of_it) for part, of_it in zip(parts, state, strict=True)]
            return DONE if any(fires for fires, _ in steps) else NO, tuple(new for _, new in steps)
        case AllOf(parts=parts):
            return _all_step(parts, event, state)
        case InTurn(parts=parts):
            return _turn_step(parts, event, state)
        case Until(repeated=repeated, end=end):
            over, ending = step(end, event, state[1])
            if over:
                return DONE, begin(trigger)
            fires, repeating = step(repeated, event, state[0])
            return FIRES if fires else NO, (repeating, ending)
    msg = f"{trigger!r} is no trigger of heronpy.pipeline.triggers"
    raise TypeError(msg)


def _deadline_step(
    trigger: Every | AfterDelay, event: WindowEvent, state: int | None
) -> tuple[int, int | None]:
    if event.kind == "clock":
        return DONE if state is not None and event.now >= state else NO, state
    if event.kind == "record" and state is None:
        match trigger:
            case Every(period=period):
                state = (event.now // period + 1) * period
            case AfterDelay(delay=delay):
                state = event.now + delay
    return NO, state


def _watermark_step(trigger: AtWatermark, event: WindowEvent, state: Any) -> tuple[int, Any]:
    passed, inner = state
    late = trigger.late or EACH_RECORD
    if event.passed and not passed:
        if event.kind == "watermark":
            return DONE, (True, begin(late))
        passed, inner = True, begin(late)  # the window's first record is a late one
    part = late if passed else trigger.early
    if part is None:
        return NO, state
    fires, inner = step(part, event, inner)
    return FIRES if fires else NO, (passed, inner)


def _all_step(parts: Sequence[Trigger], event: WindowEvent, state: Any) -> tuple[int, Any]:
    steps = [(had, *step(part, event, of_it)) for part, (had, of_it) in zip(parts, state, strict=True)]
    now = tuple((had or bool(fires), new) for had, fires, new in steps)
    return DONE if all(had for had, _ in now) else NO, now


def _turn_step(parts: Sequence[Trigger], event: WindowEvent, state: Any) -> tuple[int, Any]:
    index, inner = state
    fires, inner = step(parts[index], event, inner)
    if fires != DONE:
        return fires, (index, inner)
    if index == len(parts) - 1:
        return DONE, (index, inner)
    return FIRES, (index + 1, begin(parts[index + 1]))


def renewed(trigger: Trigger, state: Any) -> Any:
    """The state behind a pane: counts and deadlines begin anew, what is about the window stays."""
    match trigger:
        case AtWatermark(early=early):
            passed, inner = state
            part = (trigger.late or EACH_RECORD) if passed else early
            return passed, None if part is None else renewed(part, inner)
        case AnyOf(parts=parts):
            return tuple(renewed(part, of_it) for part, of_it in zip(parts, state, strict=True))
        case AllOf(parts=parts):
            return tuple((False, renewed(part, of_it)) for part, (_, of_it) in zip(parts, state, strict=True))
        case InTurn(parts=parts):
            return state[0], renewed(parts[state[0]], state[1])
        case Until(repeated=repeated):
            return renewed(repeated, state[0]), state[1]
    return begin(trigger)


def merged(trigger: Trigger, states: Sequence[Any], passed: bool) -> Any:
    """The state of a window that others have become; `passed`: the watermark has passed its end."""
    match trigger:
        case AtCount():
            return sum(states)
        case Every() | AfterDelay():
            return min((state for state in states if state is not None), default=None)
        case AtWatermark(early=early):
            part = (trigger.late or EACH_RECORD) if passed else early
            alike = [inner for was, inner in states if was == passed]
            return passed, None if part is None else merged(part, alike or [begin(part)], passed)
        case AnyOf(parts=parts):
            columns = zip(*states, strict=True)
            return tuple(merged(part, column, passed) for part, column in zip(parts, columns, strict=True))
        case AllOf(parts=parts):
            columns = zip(*states, strict=True)
            return tuple(
                _all_merged(part, column, passed) for part, column in zip(parts, columns, strict=True)
            )
        case InTurn(parts=parts):
            index = max(state[0] for state in states)
            return index, merged(parts[index], [inner for at, inner in states if at == index], passed)
        case Until(repeated=repeated, end=end):
            of_repeated, of_end = zip(*states, strict=True)
            return merged(repeated, of_repeated, passed), merged(end, of_end, passed)
    msg = f"{trigger!r} is no trigger of heronpy.pipeline.triggers"
    raise TypeError(msg)


def _all_merged(part: Trigger, states: Sequence[tuple[bool, Any]], passed: bool) -> tuple[bool, Any]:
    # a watermark at the end of one of them has not come to the end of the window that they have become
    counts = passed or speaks_before_end(part)
    return counts and any(had for had, _ in states), merged(part, [inner for _, inner in states], passed)


def deadline(trigger: Trigger, state: Any) -> int | None:
    """When a "clock" event could make it speak, in processing time; None: never."""
    match trigger:
        case Every() | AfterDelay():
            found: int | None = state
            return found
        case AtWatermark(early=early):
            passed, inner = state
            part = (trigger.late or EACH_RECORD) if passed else early
            return None if part is None else deadline(part, inner)
        case AnyOf(parts=parts):
            return _first(map(deadline, parts, state))
        case AllOf(parts=parts):
            waiting = ((part, inner) for part, (had, inner) in zip(parts, state, strict=True) if not had)
            return _first(deadline(part, inner) for part, inner in waiting)
        case InTurn(parts=parts):
            return deadline(parts[state[0]], state[1])
        case Until(repeated=repeated, end=end):
            return _first((deadline(repeated, state[0]), deadline(end, state[1])))
    return None


def _first(deadlines: Any) -> int | None:
    return min((one for one in deadlines if one is not None), default=None)
