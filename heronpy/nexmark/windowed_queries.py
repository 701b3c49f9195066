"""The queries of NEXMark that go by windows of event time, with Apache Beam's meaning."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from heronpy.nexmark.nexmark_records import Auction, Bid, Event, Person
from heronpy.pipeline import Stream, everything, sessions, sliding, tumbling
from heronpy.pipeline.triggers import after, at_count, at_watermark


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


class BidderCount(NamedTuple):
    """A result of Q12."""

    bidder: int
    bids: int


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


def q12(events: Stream[Event]) -> Stream[BidderCount]:
    """How many bids each bidder made in ten seconds of the wall clock, from the first of them on."""
    return (
        events.only(Bid)
        .key_by(lambda bid: bid.bidder, name="by_bidder_now")
        .window(everything(), trigger=after("10s"), panes="discarding")
        .count(name="bids_now")
        .map(lambda r: BidderCount(r.key, r.value), name="bidder_counts")
    )
