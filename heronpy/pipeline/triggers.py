"""Triggers: when a window speaks. The top level repeats until the window expires, and what was not shown by
then is shown: no trigger can lose data."""

from __future__ import annotations

from dataclasses import dataclass

from heronpy.pipeline.checks import Duration, checked_micros, refuse_unless


@dataclass(frozen=True)
class Trigger:
    """Base of all triggers: a tree of plain data, which heronpy.operators carries out."""

    def until(self, other: Trigger) -> Trigger:
        """This one again and again, and for the last time when `other` speaks: for `in_turn`."""
        return Until(self, _checked("until", other))


@dataclass(frozen=True)
class AtWatermark(Trigger):
    """When the watermark has passed the end of the window; `early` before, `late` behind it."""

    early: Trigger | None = None
    late: Trigger | None = None


@dataclass(frozen=True)
class Every(Trigger):
    """At multiples of a period on the wall clock, if there is something new."""

    period: int


@dataclass(frozen=True)
class AfterDelay(Trigger):
    """So long after the first record of the pane."""

    delay: int


@dataclass(frozen=True)
class AtCount(Trigger):
    """When the pane has so many records."""

    n: int


@dataclass(frozen=True)
class AnyOf(Trigger):
    """When one of them speaks."""

    parts: tuple[Trigger, ...]


@dataclass(frozen=True)
class AllOf(Trigger):
    """When each of them has spoken."""

    parts: tuple[Trigger, ...]


@dataclass(frozen=True)
class InTurn(Trigger):
    """The first until it is done, then the next; the last one repeats."""

    parts: tuple[Trigger, ...]


@dataclass(frozen=True)
class Until(Trigger):
    """One again and again, until another speaks."""

    repeated: Trigger
    end: Trigger


def at_watermark(*, early: Trigger | None = None, late: Trigger | None = None) -> Trigger:
    """When the watermark passes the end of the window. `early` speaks before that, `late` behind it; without
    `late`, each late record does."""
    for word, part in (("early", early), ("late", late)):
        if part is not None:
            _checked(f"at_watermark: {word}", part)
    return AtWatermark(early, late)


def every(period: Duration) -> Trigger:
    """At multiples of `period` on the wall clock, for windows with something new."""
    return Every(checked_micros("every: period", period))


def after(delay: Duration) -> Trigger:
    """So long after the first record that was not shown yet, by the wall clock."""
    return AfterDelay(checked_micros("after: delay", delay))


def at_count(n: int) -> Trigger:
    """When `n` records were not shown yet."""
    refuse_unless(isinstance(n, int) and n >= 1, f"at_count({n!r}) never speaks", hint="at_count(1)")
    return AtCount(n)


def any_of(*triggers: Trigger) -> Trigger:
    """When one of them speaks."""
    return AnyOf(_parts("any_of", triggers))


def all_of(*triggers: Trigger) -> Trigger:
    """When each of them has spoken since the last pane."""
    return AllOf(_parts("all_of", triggers))


def in_turn(*triggers: Trigger) -> Trigger:
    """The first, then the second, and so on; the last one repeats."""
    return InTurn(_parts("in_turn", triggers))


def speaks_before_end(trigger: Trigger) -> bool:
    """Whether it goes on speaking while the watermark does not pass the end of the window."""
    match trigger:
        case AtWatermark(early=early):
            return early is not None and speaks_before_end(early)
        case AnyOf(parts=parts):
            return any(map(speaks_before_end, parts))
        case AllOf(parts=parts):
            return all(map(speaks_before_end, parts))
        case InTurn(parts=parts):
            endless = (i for i, part in enumerate(parts, 1) if not _is_done_before_end(part))
            return all(map(speaks_before_end, parts[: next(endless, len(parts))]))
        case Until(repeated=repeated, end=end):
            return speaks_before_end(repeated) or speaks_before_end(end)
    return True


def _is_done_before_end(trigger: Trigger) -> bool:
    """Whether `in_turn` comes to the one behind it."""
    if isinstance(trigger, Until):
        return speaks_before_end(trigger.end)
    return not isinstance(trigger, AtWatermark) and speaks_before_end(trigger)


def _parts(word: str, triggers: tuple[Trigger, ...]) -> tuple[Trigger, ...]:
    refuse_unless(bool(triggers), f"{word}() has no trigger", hint=f"{word}(every('1m'), at_count(100))")
    return tuple(_checked(word, trigger) for trigger in triggers)


def _checked(word: str, trigger: Trigger) -> Trigger:
    refuse_unless(
        isinstance(trigger, Trigger),
        f"{word} takes a trigger, got {trigger!r}",
        hint="every('1m'), after('10s'), at_count(100) or at_watermark()",
    )
    return trigger


def counts_records(trigger: Trigger | None) -> bool:
    """Whether it must see every record."""
    match trigger:
        case AtCount():
            return True
        case AtWatermark(early=early, late=late):
            return counts_records(early) or counts_records(late)
        case AnyOf(parts=parts) | AllOf(parts=parts) | InTurn(parts=parts):
            return any(map(counts_records, parts))
        case Until(repeated=repeated, end=end):
            return counts_records(repeated) or counts_records(end)
    return False
