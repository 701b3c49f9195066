"""The queries of NEXMark that go by windows of event time, with Apache Beam's meaning."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from heronpy.nexmark.nexmark_records import Auction, Bid, Event, Person
from heronpy.pipeline import Stream, sessions, sliding, tumbling
from heronpy.pipeline.triggers import at_count, at_watermark
from heronpy.pipeline.watermarks import SOURCE

#: those that `windowed_query` knows
WINDOWED_QUERIES = ("Q5", "Q7", "Q8", "Q11")


class HotItem(NamedTuple):
    """A result of Q5."""

    auction: int
    bids: int
    until: datetime


class NewSeller(NamedTuple):
    """A result of Q8."""

    id: int
    name: str
    reserve: int


class BidderSession(NamedTuple):
    """A result of Q11."""

    bidder: int
    bids: int
    since: datetime
    until: datetime


def q5(events: Stream[Event]) -> Stream[HotItem]:
    """The auctions with the most bids in the last ten seconds, every five."""
    return (
        events.only(Bid)
        .key_by(lambda bid: bid.auction, name="by_auction")
        .window(sliding("10s", every="5s"))
        .count(name="bids")
        .by_window()
        .maxima(lambda result: result.value, name="hottest")
        .flat_map(lambda r: [HotItem(one.key, one.value, r.window.end) for one in r.value], name="items")
    )


def q7(events: Stream[Event]) -> Stream[Bid]:
    """The highest bids of each ten seconds."""
    highest = events.only(Bid).window(tumbling("10s")).maxima(lambda bid: bid.price, name="highest")
    return highest.flat_map(lambda result: result.value, name="highest_bids")


def q8(events: Stream[Event]) -> Stream[NewSeller]:
    """Who came and opened an auction within the same ten seconds."""
    auctions = events.only(Auction).key_by(lambda auction: auction.seller, name="by_seller")
    return (
        events.only(Person)
        .key_by(lambda person: person.id, name="by_person")
        .window(tumbling("10s"))
        .co_group(auctions, name="came_and_sold")
        .flat_map(
            lambda r: [
                NewSeller(person.id, person.name, auction.reserve)
                for person in r.value[0]
                for auction in r.value[1]
            ],
            name="new_sellers",
        )
    )


def q11(events: Stream[Event]) -> Stream[BidderSession]:
    """How many bids each bidder made in a session, which ends after ten seconds without one."""
    return (
        events.only(Bid)
        .key_by(lambda bid: bid.bidder, name="by_bidder")
        .window(
            sessions("10s"),
            lateness="1s",
            trigger=at_watermark(early=at_count(100_000)),
            panes="discarding",
        )
        .count(name="session_bids")
        .map(lambda r: BidderSession(r.key, r.value, *r.window), name="bidder_sessions")
    )


def windowed_query(name: str, events: Stream[Event]) -> Stream[Any]:
    """The results of a query by its name; the source knows its watermark."""
    timed = events.event_time(lambda event: event.at, unit="ms", lag=SOURCE)
    match name.upper():
        case "Q5":
            return q5(timed)
        case "Q7":
            return q7(timed)
        case "Q8":
            return q8(timed)
    assert name.upper() == "Q11"
    return q11(timed)
