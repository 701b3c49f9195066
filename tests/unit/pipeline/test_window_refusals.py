"""What windows refuse while they are written: a sentence each, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.pipelines.endless import EndlessSource

from heronpy import UserError
from heronpy.pipeline import Pipeline, Stream, agg, everything, sessions, sinks, sliding, sources, tumbling
from heronpy.pipeline.triggers import all_of, any_of, at_count, at_watermark, every, in_turn
from heronpy.pipeline.watermarks import percentile

NO_TIME = (
    "window: 'words' has no event time (try: .event_time(lambda record: record.at, lag='5s') behind read)"
)


def timed(stream: Stream[Any]) -> Any:
    return stream.event_time(len, unit="s", lag="0s", name="timed")


def counted(stream: Stream[Any], **how: Any) -> Any:
    return timed(stream).key_by(len).window(tumbling("1m"), **how).count(name="counts")


def joined(stream: Stream[Any], other: Callable[[Any], Any]) -> Any:
    by_len = stream.key_by(len)
    return by_len.window(tumbling("1m")).join(other(by_len))


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "no event time": (
        lambda s: s.window(tumbling("1m")),
        NO_TIME,
    ),
    "join with a side without": (
        lambda s: timed(s).key_by(len).window(tumbling("1m")).join(s.key_by(len)),
        NO_TIME,
    ),
    "merge with and without": (
        lambda s: timed(s).merge(s),
        "merge: 'words' has no event time, and others have"
        " (try: .event_time(…) behind read, for all of them or for none)",
    ),
    "no windows": (
        lambda s: timed(s).window("1m"),
        "window takes windows, got '1m'"
        " (try: tumbling('1m'), sliding('1m', every='5s'), sessions('10m') or everything())",
    ),
    "no trigger": (
        lambda s: timed(s).window(tumbling("1m"), trigger="1m"),
        "window: trigger='1m' is no trigger (try: trigger=every('10s'), from heronpy.pipeline.triggers)",
    ),
    "no panes": (
        lambda s: timed(s).window(tumbling("1m"), panes="all"),
        "window: panes='all' is not known (try: panes='accumulating', 'discarding' or 'retracting')",
    ),
    "no duration": (
        lambda s: tumbling("10"),
        "tumbling: size='10' is not a duration (try: '10s', seconds or a timedelta)",
    ),
    "windows with gaps": (
        lambda s: sliding("5s", every="10s"),
        "sliding('5s', every='10s') leaves out what lies between two windows"
        " (try: sliding('5s', every='5s'), or shorter)",
    ),
    "count of none": (lambda s: at_count(0), "at_count(0) never speaks (try: at_count(1))"),
    "composite of none": (
        lambda s: all_of(),
        "all_of() has no trigger (try: all_of(every('1m'), at_count(100)))",
    ),
    "no percentage": (lambda s: percentile(0), "percentile(0) is no percentage (try: percentile(99))"),
    "sessions of what does not combine": (
        lambda s: timed(s).window(sessions("1m")).aggregate(agg.fold(list, lambda a, r: [*a, r])),
        "windows that merge need the aggregate 'fold' to combine (try: agg.fold(create, add, combine))",
    ),
    "retractions into what does not deduct": (
        lambda s: counted(s, panes="retracting").by_window().maxima(lambda r: r.value),
        "the aggregate 'maxima' cannot deduct what 'counts' takes back (panes='retracting')"
        " (try: agg.count(), agg.sum(fn) or agg.mean(fn), or panes='accumulating')",
    ),
    "retractions of what was discarded": (
        lambda s: (
            counted(s, panes="retracting")
            .key_by(lambda r: r.key)
            .window(tumbling("1h"), panes="discarding")
            .mean(lambda r: r.value, name="means")
        ),
        "'means' discards, and what 'counts' takes back (panes='retracting') may be of a pane that it has"
        " discarded: only counts and sums of that can be told, no mean"
        " (try: panes='accumulating' or 'retracting' for 'means', or panes='accumulating' for 'counts')",
    ),
    "retractions in a table": (
        lambda s: s.hash_join(
            counted(s, panes="retracting").map(lambda r: r.value, name="n"), on=len, key=int, name="joined"
        ),
        "the table of 'joined' cannot take back what 'counts' takes back (panes='retracting')"
        " (try: panes='accumulating' for 'counts', without early and late panes)",
    ),
    "retractions into a state": (
        lambda s: counted(s, panes="retracting").key_by(lambda r: r.key).dedup(),
        "dedup cannot take back what 'counts' takes back (panes='retracting')"
        " (try: a window with an aggregate that deducts, or panes='accumulating')",
    ),
    "retractions that a sink would not see": (
        lambda s: counted(s, panes="retracting").map(lambda r: r.value, name="n").write(sinks.printed()),
        "printed appends what 'n' makes of results that 'counts' takes back"
        " (try: write the results of 'counts' themselves, or panes='accumulating')",
    ),
    "retractions that would get an event time": (
        lambda s: counted(s, panes="retracting").event_time(lambda r: r.window.end, lag="0s"),
        "event_time cannot take back what 'counts' takes back (panes='retracting')"
        " (try: a window with an aggregate that deducts, or panes='accumulating')",
    ),
    "retractions on the other side": (
        lambda s: joined(
            timed(s),
            lambda by_len: by_len.window(tumbling("1m"), panes="retracting").count(name="counts").key_by(len),
        ),
        "the aggregate 'join' cannot deduct what 'counts' takes back (panes='retracting')"
        " (try: agg.count(), agg.sum(fn) or agg.mean(fn), or panes='accumulating')",
    ),
    "dedup by event time that is not there": (
        lambda s: s.key_by(len).dedup(within="10s"),
        "dedup: within=… goes by event time, and 'words' has none"
        " (try: .event_time(lambda record: record.at, lag='5s') behind read)",
    ),
    "splits that are ahead behind what mixes them": (
        lambda s: s.rebalance(name="dealt").map(str).event_time(len, unit="s", lag="0s", ahead="1m"),
        "event_time: ahead=… has no effect behind 'dealt', which does not hand on of which split its"
        " records are (try: put event_time in front of 'dealt', or leave ahead out)",
    ),
    "windows on both sides": (
        lambda s: joined(timed(s), lambda by_len: by_len.window(tumbling("1m"))),
        "join in windows takes two keyed streams (try: .key_by(…).window(…).join(other.key_by(…)))",
    ),
    "panes that repeat, together": (
        lambda s: counted(s, lateness="1m").by_window(),
        "by_window of 'counts', whose panes repeat what others said, counts keys more than once"
        " (try: panes='retracting' with an aggregate that deducts, or 'discarding')",
    ),
    "pairs that would be lost": (
        lambda s: timed(s).key_by(len).window(tumbling("1m"), panes="discarding").join(s.key_by(len)),
        "join: panes='discarding' would lose pairs of which one record is new and one is not"
        " (try: panes='accumulating')",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_window_that_cannot_be_is_refused_where_it_is_written(case: str) -> None:
    write, sentence = WRONG[case]
    with pytest.raises(UserError) as refused:
        write(Pipeline("p").read(sources.items(["to", "be"]), name="words"))
    assert str(refused.value) == sentence


def test_records_of_several_sources_have_their_event_time_before_they_are_merged() -> None:
    p = Pipeline("p")
    slow, fast = (p.read(sources.items(["to"]), name=name) for name in ("slow", "fast"))
    with pytest.raises(UserError) as refused:
        timed(slow.map(str).merge(fast, name="both").filter(bool))
    assert str(refused.value) == (
        "event_time behind 'both': records of a slow source would be late against those of a fast one"
        " (try: put event_time behind each read, and merge what it gives)"
    )
    assert timed(slow.merge(slow.map(str))).timed
    pairs = slow.hash_join(fast, on=len, key=len).event_time(lambda pair: 0, unit="s", lag="0s", idle="1s")
    assert pairs.timed


def test_a_window_of_all_time_needs_a_trigger_if_its_input_never_ends() -> None:
    clicks = timed(Pipeline("p").read(EndlessSource(), name="clicks"))
    for silent in (
        at_watermark(late=every("1s")),
        at_watermark(early=at_watermark()),
        all_of(at_watermark(), at_count(3)),
        in_turn(at_watermark(), at_count(3)),
        in_turn(at_count(3), at_watermark()),
    ):
        with pytest.raises(UserError) as refused:
            clicks.window(everything(), trigger=silent)
        assert str(refused.value) == (
            "everything() of 'timed', a stream that never ends, never fires at_watermark()"
            " (try: trigger=every('10s') or at_count(n))"
        )
    for heard in (
        every("10s"),
        any_of(at_watermark(), at_count(3)),
        all_of(at_watermark(early=every("1s")), at_count(3)),
        in_turn(every("1s").until(at_watermark()), at_watermark()),
    ):
        assert not clicks.window(everything(), trigger=heard).count().bounded


def test_the_other_side_of_a_join_is_looked_at_like_the_first() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["to"])).event_time(len, unit="s", lag="0s").key_by(len)
    endless = timed(p.read(EndlessSource(), name="clicks")).key_by(len)
    with pytest.raises(UserError, match=r"^everything\(\) of 'timed', a stream that never ends"):
        words.window(everything()).join(endless)
    late = words.window(tumbling("1m"), lateness="1m", panes="discarding").count(name="counts")
    with pytest.warns(UserWarning, match=r"^results of 'counts' may be 1m late") as warned:
        words.window(tumbling("1m")).join(late.key_by(lambda r: r.key))
    assert warned[0].filename == __file__


def test_a_window_in_which_nothing_is_calculated_has_no_effect_and_is_refused() -> None:
    p = Pipeline("p")
    words = timed(p.read(sources.items(["to"]), name="words"))
    words.window(sessions("1m"), trigger=every("1s"))
    words.write(sinks.printed())
    with pytest.raises(
        UserError,
        match=r"^nothing is calculated in the window of 'timed' at test_window_refusals.py:\d+ \(try: ",
    ):
        p.run()


def test_a_record_is_not_tracked_for_as_long_as_its_windows_are_open() -> None:
    p = Pipeline("p", guarantee="at_least_once")
    counted(p.read(sources.items(["to"]))).write(sinks.printed())
    with pytest.raises(
        UserError, match=r"^guarantee='at_least_once' would track each record until the windows"
    ):
        p.run()


def test_late_results_that_the_next_window_would_not_take_are_warned_of() -> None:
    counts = counted(Pipeline("p").read(sources.items(["to"])), lateness="1m", panes="discarding")
    with pytest.warns(
        UserWarning, match=r"^results of 'counts' may be 1m late, and the window behind it takes"
    ):
        counts.key_by(lambda r: r.key).window(tumbling("5m"))
    assert counts.key_by(lambda r: r.key).window(tumbling("5m"), lateness="1m").count().bounded


def test_counts_and_sums_of_what_is_taken_back_may_be_discarded() -> None:
    by_key = counted(Pipeline("p").read(sources.items(["to"])), panes="retracting").key_by(lambda r: r.key)
    hours = by_key.window(tumbling("1h"), panes="discarding")
    changes = agg.of(n=agg.count(), sum=agg.sum(lambda r: r.value))
    assert hours.aggregate(changes).bounded
    mixed = agg.of(n=agg.count(), mean=agg.mean(lambda r: r.value))
    with pytest.raises(UserError, match=r"no of\(n=count, mean=mean\) \(try: "):
        by_key.window(tumbling("1h"), panes="discarding").aggregate(mixed)
