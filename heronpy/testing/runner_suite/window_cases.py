"""Event time and windows: results that do not depend on how the input was cut or ordered."""

from __future__ import annotations

from typing import Any

from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import query
from heronpy.pipeline import Stream, agg, sessions, sliding, tumbling
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps

book = CaseBook()

#: (user, second), as out of order as the lag allows
CLICKS = [("ann", 3), ("bob", 1), ("ann", 7), ("ann", 2), ("bob", 14), ("ann", 12), ("bob", 31), ("ann", 33)]


def _timed(t: CaseSteps) -> Stream[tuple[str, int]]:
    return t.read(CLICKS).event_time(lambda click: click[1], unit="s", lag="10s", name=t.name("timed"))


@book.case([("ann", 3), ("bob", 1)], needs="event time")
def event_time_of_records(t: CaseSteps) -> Stream[Any]:
    return _timed(t).filter(lambda click: click[1] in (1, 3), name=t.name("some"))


@book.case([("bob", 1), ("bob", 14), ("bob", 31)], needs="event time")
def event_time_of_one_class(t: CaseSteps) -> Stream[Any]:
    mixed = _timed(t).map(lambda click: click[1] if click[0] == "bob" else click, name=t.name("mixed"))
    return mixed.only(int, name=t.name("seconds")).map(lambda second: ("bob", second), name=t.name("bobs"))


@book.case(
    [("ann", 10, 3), ("ann", 20, 1), ("ann", 40, 1), ("bob", 10, 1), ("bob", 20, 1), ("bob", 40, 1)],
    needs="windows",
)
def windows_side_by_side(t: CaseSteps) -> Stream[Any]:
    by_user = _timed(t).key_by(lambda click: click[0], name=t.name("user"))
    counts = by_user.window(tumbling("10s")).count(name=t.name("count"))
    return counts.map(lambda r: (r.key, r.window.end.second, r.value))


@book.case([(10, 13), (20, 39), (30, 26), (40, 64), (50, 64)], needs="windows")
def windows_that_slide(t: CaseSteps) -> Stream[Any]:
    window = _timed(t).window(sliding("20s", every="10s"))
    sums = window.sum(lambda click: click[1], name=t.name("sum"))
    return sums.map(lambda r: (r.window.end.second, r.value))


@book.case([("ann", 2, 12, 3), ("ann", 12, 17, 1), ("ann", 33, 38, 1)], needs="windows")
def windows_of_activity(t: CaseSteps) -> Stream[Any]:
    by_user = _timed(t).filter(lambda click: click[0] == "ann").key_by(lambda click: click[0])
    counts = by_user.window(sessions("5s")).count(name=t.name("count"))
    return counts.map(lambda r: (r.key, r.window.start.second, r.window.end.second, r.value))


@book.case([("ann", 3, 1), ("ann", 7, 1), ("ann", 2, 1), ("ann", 12, 14), ("ann", 33, 31)], needs="windows")
def windows_that_join(t: CaseSteps) -> Stream[Any]:
    timed = _timed(t)
    anns = timed.filter(lambda click: click[0] == "ann").key_by(lambda _: "all", name=t.name("anns"))
    bobs = timed.filter(lambda click: click[0] == "bob").key_by(lambda _: "all", name=t.name("bobs"))
    joined = anns.window(tumbling("10s")).join(bobs, name=t.name("join"))
    return joined.map(lambda r: (*r.value[0], r.value[1][1]))


@book.case(
    [("Q4", 51), ("Q5", 7), ("Q6", 121), ("Q7", 3), ("Q8", 174), ("Q9", 121), ("Q11", 139)],
    needs="windows",
)
def nexmark_queries_in_event_time(t: CaseSteps) -> Stream[Any]:
    """How many results each has, of 30 seconds of events."""
    events = t.p.read(NexmarkSource(6_000, generators=2, rate=200), name=t.name("read"))

    def results(name: str) -> Stream[Any]:
        return query(name, t.p, events).count(name=t.name(name)).map(lambda n: (name, n))

    first, *others = map(results, ("Q4", "Q5", "Q6", "Q7", "Q8", "Q9", "Q11"))
    return first.merge(*others)


@book.case([("Q12", 5_520)], needs="windows")
def nexmark_queries_by_the_clock(t: CaseSteps) -> Stream[Any]:
    """How many bids Q12 has counted: when it speaks depends on how fast the runner is."""
    events = t.p.read(NexmarkSource(6_000, generators=2, rate=200), name=t.name("read"))
    counts = query("Q12", t.p, events).aggregate(agg.sum(lambda found: found.bids), name=t.name("Q12"))
    return counts.map(lambda bids: ("Q12", bids))
