"""Which segments there are, and what an offset of Spark's means. Decides; does no I/O.

A *segment* is what one transaction of a sink has written. Each life of a sink's task has a *lane*, in which
it numbers its segments from 0. They are committed in this order, by that life or by a successor; segments
that are never committed are the last of their lane. So an offset is the number of the last segment in each
lane, and writers need no coordination.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from heronpy.kernel.errors import UserError

DATA: Final = "data/"
COMMITTED: Final = "committed/"

#: lanes that an offset may have before those are left out of which nothing is left
_MANY: Final = 64


class Segment(NamedTuple):
    """One transaction of one task; it lies in some parts, so that none is too large."""

    lane: str
    number: int
    parts: int

    @property
    def mark(self) -> str:
        """Name of the object that says that the segment is committed."""
        return f"{COMMITTED}{self.lane}/{self.number:010d}.{self.parts}"

    def data(self) -> list[str]:
        return [part_name(self.lane, self.number, part) for part in range(self.parts)]


class Span(NamedTuple):
    """Segments of one lane."""

    first: int
    last: int


#: lane → from where on it has been read, and how far
Offset = Mapping[str, Span]


def part_name(lane: str, number: int, part: int) -> str:
    return f"{DATA}{lane}/{number:010d}.{part:04d}"


def parse_part(name: str) -> Segment:
    """The segment that a part belongs to, with the number of the part in place of how many there are."""
    return _parsed(name, DATA)


def _parsed(name: str, kind: str) -> Segment:
    lane, _, rest = name.removeprefix(kind).rpartition("/")
    number, _, parts = rest.partition(".")
    return Segment(lane, int(number), int(parts))


class Present(NamedTuple):
    """What is in the store: segments whose first part is there, by lane and number."""

    committed: dict[str, dict[int, Segment]]
    #: of these some are not committed, or not yet
    written: dict[str, set[int]]

    @classmethod
    def of(cls, marks: Iterable[str], parts: Iterable[str]) -> Present:
        """`marks` must have been listed first: the data of a segment is there before its mark."""
        written: dict[str, set[int]] = {}
        for segment in map(parse_part, parts):
            if segment.parts == 0:
                written.setdefault(segment.lane, set()).add(segment.number)
        committed: dict[str, dict[int, Segment]] = {}
        for segment in (_parsed(mark, COMMITTED) for mark in marks):
            # a mark without data: read by all readers, and then committed again by a late process
            if segment.number in written.get(segment.lane, ()):
                committed.setdefault(segment.lane, {})[segment.number] = segment
        return cls(committed, written)

    def segments(self) -> list[Segment]:
        """All that are committed."""
        return sorted(segment for lane in self.committed.values() for segment in lane.values())


def reach(start: Offset, present: Present, what: str = "the sink") -> dict[str, Span]:
    """How far one can read from an offset on; equal to it when there is nothing new.

    Never past a segment that is written and not committed, even if a later one seems to be: a list of names
    is not taken in one moment. UserError if what comes next has been deleted.
    """
    found: dict[str, Span] = {}
    for lane, written in present.written.items():
        known, committed = start.get(lane), present.committed.get(lane, {})
        ahead = sorted(written if known is None else (each for each in written if each > known.last))
        first = known.last + 1 if known is not None else ahead[0]
        if known is not None and ahead and ahead[0] > first and ahead[0] in committed:
            msg = f"segments {first} to {ahead[0] - 1} of {what} (lane {lane}) are gone: not all were read"
            raise UserError(msg, hint="use a new checkpointLocation, and a `reader` option for each query")
        last = first - 1
        for number in ahead:
            if number not in committed:
                break
            last = number
        if known is not None:
            found[lane] = Span(known.first, last)
        elif last >= first:
            found[lane] = Span(first, last)
    return _settled(start, found)


def _settled(start: Offset, found: dict[str, Span]) -> dict[str, Span]:
    if all(start.get(lane) == span for lane, span in found.items()):
        return dict(start)
    forgotten = (
        {} if len(start) > _MANY else {lane: span for lane, span in start.items() if lane not in found}
    )
    return dict(sorted({**forgotten, **found}.items()))


def between(start: Offset, end: Offset) -> Iterator[tuple[str, int]]:
    """The lane and number of each segment after one offset and up to another."""
    for lane, span in sorted(end.items()):
        known = start.get(lane)
        first = span.first if known is None else known.last + 1
        yield from ((lane, number) for number in range(first, span.last + 1))


def limited(start: Offset, end: Offset, most: int) -> dict[str, Span]:
    """The offset that is at most so many segments further, taking turns with the lanes."""
    waiting: dict[str, list[int]] = {}
    for lane, number in between(start, end):
        waiting.setdefault(lane, []).append(number)
    turns = sorted((turn, lane, number) for lane, each in waiting.items() for turn, number in enumerate(each))
    taken = {lane: Span(end[lane].first, span.last) for lane, span in start.items() if lane in end}
    for _, lane, number in turns[:most]:
        taken[lane] = Span(end[lane].first, number)
    return dict(sorted(taken.items()))


def capped(start: Offset, end: Offset, most: Offset) -> dict[str, Span]:
    """An offset after `start`, but nowhere further than `most` unless it is there already."""
    found = {}
    for lane, span in end.items():
        limit = max([each[lane].last for each in (start, most) if lane in each], default=-1)
        if limit >= span.first:
            found[lane] = Span(span.first, min(span.last, limit))
    return dict(start) if all(start.get(lane) == span for lane, span in found.items()) else found


def common(offsets: Collection[Offset]) -> dict[str, Span]:
    """The offset behind all of some offsets: no reader needs segments before it."""
    first, *others = offsets
    shared = {}
    for lane, span in first.items():
        behind = [span, *(other[lane] for other in others if lane in other)]
        if len(behind) == len(offsets):
            shared[lane] = Span(min(each.first for each in behind), min(each.last for each in behind))
    return shared


def behind(segment: Segment, offset: Offset) -> bool:
    """Whether a reader at that offset has read a segment."""
    return segment.lane in offset and segment.number <= offset[segment.lane].last


def useless(marks: Iterable[str], parts: Iterable[str], offset: Offset) -> list[str]:
    """Objects behind an offset, in the order in which they may go; also marks without data.

    A segment counts while its first part is there; so that goes first, and the segments in their order: what
    a crash leaves of a lane is never older than what has gone.
    """
    parts, marks = sorted(parts), list(marks)
    gone = [name for name in parts if behind(parse_part(name), offset)]
    left = Present.of(marks, [name for name in parts if not behind(parse_part(name), offset)])
    kept = {segment.mark for segment in left.segments()}
    without_data = (mark for mark in marks if mark not in kept)
    return gone + sorted(mark for mark in without_data if behind(_parsed(mark, COMMITTED), offset))


def to_plain(offset: Offset) -> dict[str, list[int]]:
    """As Spark keeps it."""
    return {lane: [span.first, span.last] for lane, span in sorted(offset.items())}


def from_plain(plain: Mapping[str, Iterable[int]]) -> dict[str, Span]:
    return {lane: Span(*span) for lane, span in plain.items()}
