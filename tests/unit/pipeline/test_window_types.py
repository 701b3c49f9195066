"""What mypy infers of pipelines in windows: every lambda, and what results are of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import assert_type

from heronpy.pipeline import (
    KeyedStream,
    Pipeline,
    Result,
    Results,
    Stream,
    Windowed,
    agg,
    everything,
    sessions,
    sliding,
    sources,
    tumbling,
)
from heronpy.pipeline.triggers import after, at_watermark, every
from heronpy.pipeline.watermarks import ARRIVAL, SOURCE, percentile


@dataclass(frozen=True)
class Person:
    id: int
    name: str
    at: datetime


@dataclass(frozen=True)
class Auction:
    id: int
    seller: int
    reserve: int
    at: datetime


@dataclass(frozen=True)
class Bid:
    auction: int
    bidder: int
    price: int
    at: datetime


def events() -> Stream[Person | Auction | Bid]:
    kept: list[Person | Auction | Bid] = [Bid(1, 2, 3, datetime(2026, 1, 1, tzinfo=UTC))]
    read = Pipeline("nexmark").read(sources.items(kept))
    return read.event_time(lambda e: e.at, lag="4s", idle="30s")


def test_each_lambda_is_inferred_in_the_queries_of_nexmark_with_windows() -> None:
    timed = events()
    assert_type(timed, Stream[Person | Auction | Bid])
    bids, auctions, people = timed.only(Bid), timed.only(Auction), timed.only(Person)
    counts = bids.key_by(lambda b: b.auction).window(sliding("10s", every="5s")).count(name="bids")
    assert_type(counts, Results[int, Bid, int])
    assert_type(counts.late, Stream[Bid])
    q5 = (
        counts.by_window()
        .maxima(lambda r: r.value, name="hottest")
        .flat_map(lambda r: ((c.key, c.value, r.window.end) for c in r.value))
    )
    assert_type(q5, Stream[tuple[int, int, datetime]])
    assert_type(counts.by_window(), Windowed[None, Result[int, int]])
    q7 = bids.window(tumbling("10s")).maxima(lambda b: b.price).flat_map(lambda r: r.value)
    assert_type(q7, Stream[Bid])
    grouped = (
        people.key_by(lambda p: p.id).window(tumbling("10s")).co_group(auctions.key_by(lambda a: a.seller))
    )
    assert_type(grouped, Results[int, Person | Auction, tuple[list[Person], list[Auction]]])
    q8 = grouped.flat_map(lambda r: ((p.id, p.name, a.reserve) for p in r.value[0] for a in r.value[1]))
    assert_type(q8, Stream[tuple[int, str, int]])
    q11 = bids.key_by(lambda b: b.bidder).window(sessions("10s"), lateness="1s").count()
    assert_type(q11, Results[int, Bid, int])
    by_bidder = bids.key_by(lambda b: b.bidder)
    q12 = by_bidder.window(everything(), trigger=after("10s"), panes="discarding").count()
    assert_type(q12.map(lambda r: (r.key, r.value, r.pane.timing, r.retracts)).bounded, bool)


def test_aggregates_in_windows_have_the_types_of_their_values() -> None:
    by_auction = events().only(Bid).key_by(lambda b: b.auction)
    assert_type(by_auction, KeyedStream[int, Bid])
    window = by_auction.window(tumbling("1m"), trigger=at_watermark(early=every("5s")), lateness="1m")
    assert_type(window, Windowed[int, Bid])
    assert_type(window.sum(lambda b: b.price), Results[int, Bid, int])
    assert_type(window.mean(lambda b: b.price), Results[int, Bid, float])
    assert_type(window.min(lambda b: b.at), Results[int, Bid, datetime])
    assert_type(window.max(lambda b: b.at), Results[int, Bid, datetime])
    assert_type(window.top(3, by=lambda b: b.price), Results[int, Bid, list[Bid]])
    assert_type(window.collect(), Results[int, Bid, list[Bid]])
    assert_type(window.aggregate(agg.distinct()), Results[int, Bid, int])
    auctions = events().only(Auction).key_by(lambda a: a.id)
    joined = auctions.window(tumbling("1m")).join(events_by_auction(auctions), how="left")
    assert_type(joined, Results[int, Auction | Auction, tuple[Auction, Auction | None]])


def events_by_auction(stream: KeyedStream[int, Auction]) -> KeyedStream[int, Auction]:
    return stream


def test_watermark_strategies_stand_where_a_lag_does() -> None:
    read = Pipeline("p").read(sources.items([1, 2]))
    for lag in ("5s", ARRIVAL, SOURCE, percentile(99)):
        assert_type(read.event_time(lambda n: n, unit="s", lag=lag), Stream[int])


def test_a_typo_behind_a_window_is_found() -> None:
    bids = events().only(Bid)
    bids.event_time(lambda b: b.time, lag="0s")  # type: ignore[attr-defined]
    counts = bids.key_by(lambda b: b.auction).window(tumbling("1m")).count()
    counts.map(lambda r: r.valeu)  # type: ignore[attr-defined]
    bids.window(tumbling("1m")).sum(lambda b: b.prize)  # type: ignore[attr-defined]
