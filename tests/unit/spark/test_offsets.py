"""What an offset means, whatever has been written, committed and deleted by whomever, in whatever order."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import UserError
from heronpy.kernel.plugin.checkpoint_store import checked_object
from heronpy.spark.segments import (
    Offset,
    Present,
    Segment,
    Span,
    between,
    capped,
    common,
    from_plain,
    limited,
    parse_part,
    reach,
    to_plain,
    useless,
)

LANES = ["5f2a-3-ab", "5f2a-4-cd", "77e0-3-ef"]

#: lane → (first number that is left, segments that are committed, segments that are written behind those)
Store = dict[str, tuple[int, int, int]]
stores = st.dictionaries(
    st.sampled_from(LANES), st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(0, 3))
)


def objects(store: Store) -> tuple[list[str], list[str]]:
    """The marks and the parts in it; every other segment has two parts."""
    marks, parts = [], []
    for lane, (first, committed, open_) in store.items():
        for number in range(first, first + committed + open_):
            segment = Segment(lane, number, 1 + number % 2)
            parts += segment.data()
            if number < first + committed:
                marks.append(segment.mark)
    return marks, parts


def present(store: Store) -> Present:
    return Present.of(*objects(store))


def numbers(pairs: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(pairs)


def committed(store: Store) -> list[tuple[str, int]]:
    return [(segment.lane, segment.number) for segment in present(store).segments()]


@given(stores)
def test_from_nothing_all_that_is_committed_is_read_once(store: Store) -> None:
    assert numbers(between({}, reach({}, present(store)))) == committed(store)


@given(stores, st.data())
def test_two_steps_read_what_one_does(store: Store, data: st.DataObject) -> None:
    """Lanes grow between the steps, and what the first has read may be deleted."""
    earlier = {
        lane: (first, data.draw(st.integers(0, count)), 0) for lane, (first, count, _) in store.items()
    }
    start = reach({}, present(earlier))
    later = dict(store)
    for lane, span in start.items():
        gone = data.draw(st.integers(0, span.last + 1 - span.first))
        first, count, open_ = store[lane]
        later[lane] = (first + gone, count - gone, open_)
    end = reach(start, present(later))
    both = [*between({}, start), *between(start, end)]
    assert numbers(both) == committed(store)


@given(stores)
def test_nothing_new_is_the_very_same_offset(store: Store) -> None:
    start = reach({}, present(store))
    assert reach(start, present(store)) == start
    marks, parts = objects(store)
    gone = set(useless(marks, parts, start))
    left = Present.of(
        [name for name in marks if name not in gone], [name for name in parts if name not in gone]
    )
    assert reach(start, left) == start
    assert left.segments() == []


@given(stores, st.lists(st.integers(0, 8), min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_a_crash_while_deleting_leaves_nothing_that_is_read_again(
    store: Store, read: list[int], dice: st.DrawFn
) -> None:
    """Whatever of the deletion has happened: who has read it sees nothing of it, others all or nothing."""
    everything = reach({}, present(store))
    start = {
        lane: Span(span.first, min(span.last, span.first + how_far - 1))
        for how_far, (lane, span) in zip(read, everything.items(), strict=False)
        if how_far
    }
    marks, parts = objects(store)
    order = useless(marks, parts, start)
    gone = set(order[: dice.randint(0, len(order))])  # type: ignore[attr-defined]
    left = Present.of(
        [name for name in marks if name not in gone], [name for name in parts if name not in gone]
    )
    assert all(name not in gone for segment in left.segments() for name in segment.data())
    seen = numbers(between(start, reach(start, left)))
    assert seen == [pair for pair in committed(store) if not _has_read(start, pair)]


def _has_read(offset: Offset, pair: tuple[str, int]) -> bool:
    lane, number = pair
    return lane in offset and number <= offset[lane].last


@given(stores, st.integers(1, 5))
def test_small_steps_end_where_one_large_one_does(store: Store, most: int) -> None:
    end = reach({}, present(store))
    at: dict[str, Span] = {}
    seen: list[tuple[str, int]] = []
    while (following := limited(at, reach(at, present(store)), most)) != at:
        step = list(between(at, following))
        assert 0 < len(step) <= most
        seen += step
        at = following
    assert at == end
    assert numbers(seen) == committed(store)


@given(stores, stores)
def test_what_is_available_now_stays_that(now: Store, more: Store) -> None:
    """Lanes that grow or appear later are not read by a query that only wants what was there."""
    limit = reach({}, present(now))
    later = {
        lane: (now[lane][0], now[lane][1] + more.get(lane, (0, 0, 0))[1], 0) if lane in now else store
        for lane, store in {**more, **now}.items()
    }
    end = capped({}, reach({}, present(later)), limit)
    assert numbers(between({}, end)) == committed(now)
    assert capped(end, reach(end, present(later)), limit) == end


@given(st.lists(stores, min_size=1, max_size=3), stores)
def test_what_all_have_read_goes_and_nothing_else(read: list[Store], store: Store) -> None:
    offsets = [reach({}, present(each)) for each in read]
    marks, parts = objects(store)
    gone = useless(marks, parts, common(offsets))
    for name in (name for name in parts if name not in gone):
        segment = parse_part(name)
        assert not all(_has_read(offset, (segment.lane, segment.number)) for offset in offsets)
    for name in (name for name in gone if name in parts):
        segment = parse_part(name)
        assert all(_has_read(offset, (segment.lane, segment.number)) for offset in offsets)


def test_a_mark_that_comes_late_for_what_has_been_deleted_is_nothing_and_goes() -> None:
    late = Segment(LANES[0], 4, 1).mark
    assert Present.of([late], []).segments() == []
    assert useless([late], [], {LANES[0]: Span(0, 4)}) == [late]
    # its data may only not have been listed
    assert useless([late], [], {LANES[0]: Span(0, 3)}) == []


def test_what_is_seen_out_of_order_waits_for_what_is_before_it() -> None:
    """A list of names is not taken in one moment: the mark of 1 may be missed, and that of 2 be seen."""
    segments = [Segment(LANES[0], number, 1) for number in range(3)]
    marks = [segments[0].mark, segments[2].mark]
    seen = Present.of(marks, [name for segment in segments for name in segment.data()])
    assert reach({}, seen) == {LANES[0]: Span(0, 0)}


def test_what_is_gone_before_it_was_read_is_an_error() -> None:
    store = present({LANES[0]: (5, 2, 0)})
    with pytest.raises(UserError) as caught:
        reach({LANES[0]: Span(0, 2)}, store, "SegmentSink 'out'")
    assert str(caught.value) == (
        f"segments 3 to 4 of SegmentSink 'out' (lane {LANES[0]}) are gone: not all were read"
        " (try: use a new checkpointLocation, and a `reader` option for each query)"
    )


def test_lanes_of_which_nothing_is_left_are_forgotten_when_there_are_many() -> None:
    """One comes with every restart; and one that is forgotten is not read again when it goes on."""
    few = {f"lane{number}": Span(0, 3) for number in range(10)}
    many = {f"lane{number}": Span(0, 3) for number in range(100)}
    store = present({"lane7": (4, 1, 0)})
    assert reach(few, store) == {**few, "lane7": Span(0, 4)}
    assert reach(many, store) == {"lane7": Span(0, 4)}
    assert reach({}, store) == {"lane7": Span(4, 4)}


@given(stores)
def test_offsets_survive_sparks_journal_and_names_are_good_for_every_store(store: Store) -> None:
    offset = reach({}, present(store))
    assert from_plain(to_plain(offset)) == offset
    for name in [*objects(store)[0], *objects(store)[1]]:
        assert checked_object(name) == name
