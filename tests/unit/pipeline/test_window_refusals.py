"""What windows refuse while they are written: a sentence each, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.pipelines.endless import EndlessSource

from heronpy import UserError
from heronpy.pipeline import Pipeline, Stream, agg, everything, sessions, sinks, sliding, sources, tumbling
from heronpy.pipeline.triggers import all_of, at_count, at_watermark, every
from heronpy.pipeline.watermarks import percentile

NO_TIME = (
    "window: 'words' has no event time (try: .event_time(lambda record: record.at, lag='5s') behind read)"
)


def timed(stream: Stream[Any]) -> Any:
    return stream.event_time(len, unit="s", lag="0s", name="timed")


def counted(stream: Stream[Any], **how: Any) -> Any:
    return timed(stream).key_by(len).window(tumbling("1m"), **how).count(name="counts")


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


def test_a_window_of_all_time_needs_a_trigger_if_its_input_never_ends() -> None:
    clicks = timed(Pipeline("p").read(EndlessSource(), name="clicks"))
    with pytest.raises(UserError) as refused:
        clicks.window(everything(), trigger=at_watermark(late=every("1s")))
    assert str(refused.value) == (
        "everything() of 'timed', a stream that never ends, never fires at_watermark()"
        " (try: trigger=every('10s') or at_count(n))"
    )
    assert not clicks.window(everything(), trigger=every("10s")).count().bounded


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
