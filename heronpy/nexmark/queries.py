"""The queries of NEXMark by name, and those that need no event time, with Apache Beam's meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.nexmark.auction_queries import q4, q6, q9
from heronpy.nexmark.nexmark_records import Auction, Bid, Event, Person
from heronpy.nexmark.windowed_queries import q5, q7, q8, q11, q12
from heronpy.pipeline import Context, Pipeline, Stream, sources
from heronpy.pipeline.watermarks import SOURCE

#: those without event time
QUERIES = ("Q0", "Q1", "Q2", "Q3", "Q13")
#: those with it
TIMED_QUERIES: dict[str, Callable[[Stream[Event]], Stream[Any]]] = {
    "Q4": q4,
    "Q5": q5,
    "Q6": q6,
    "Q7": q7,
    "Q8": q8,
    "Q9": q9,
    "Q11": q11,
    "Q12": q12,
}
#: rows of the table that Q13 joins with
SIDE_ROWS = 500


def q0(events: Stream[Event]) -> Stream[Event]:
    """Everything, as it is: what a runner costs by itself."""
    return events


def q1(events: Stream[Event]) -> Stream[Bid]:
    """Bids with their price in euros."""
    return events.only(Bid).map(lambda bid: bid._replace(price=bid.price * 89 // 100), name="to_euros")


def q2(events: Stream[Event]) -> Stream[tuple[int, int]]:
    """Auction and price of the bids on some auctions."""
    return (
        events.only(Bid)
        .filter(lambda bid: bid.auction % 123 == 0, name="selected")
        .map(lambda bid: (bid.auction, bid.price), name="prices")
    )


@dataclass
class Seller:
    """What Q3 knows of a person: the record, or the auctions that came before it."""

    person: Person | None = None
    waiting: list[Auction] = field(default_factory=list)


class Offer(NamedTuple):
    """A result of Q3."""

    name: str
    city: str
    state: str
    auction: int


def offers(seller: Seller, event: Person | Auction, context: Context[int]) -> Iterator[Offer]:  # noqa: ARG001
    """Auctions of a seller, each as soon as both are known."""
    if isinstance(event, Person):
        seller.person, auctions, seller.waiting = event, seller.waiting, []
    elif seller.person is None:
        seller.waiting.append(event)
        return
    else:
        auctions = [event]
    who = seller.person
    for auction in auctions:
        yield Offer(who.name, who.city, who.state, auction.id)


def q3(events: Stream[Event]) -> Stream[Offer]:
    """Who sells in three states in a category."""
    return (
        events.only(Person)
        .filter(lambda person: person.state in ("OR", "ID", "CA"), name="in_three_states")
        .merge(events.only(Auction).filter(lambda auction: auction.category == 10, name="in_category"))
        .key_by(lambda event: event.id if isinstance(event, Person) else event.seller, name="seller")
        .process(Seller, offers, name="offers")
    )


class SideRow(NamedTuple):
    """A row of the table of Q13."""

    id: int
    value: str


def q13(events: Stream[Event], table: Stream[SideRow]) -> Stream[Bid]:
    """Bids, each with a value of a table that is there before."""
    return (
        events.only(Bid)
        .hash_join(table, on=lambda bid: bid.bidder % SIDE_ROWS, key=lambda row: row.id, name="side_input")
        .map(lambda pair: pair[0]._replace(extra=pair[1].value), name="with_value")
    )


def query(name: str, p: Pipeline, events: Stream[Event]) -> Stream[Any]:
    """The results of a query by its name, upper or lower case."""
    match name.upper():
        case "Q0":
            return q0(events)
        case "Q1":
            return q1(events)
        case "Q2":
            return q2(events)
        case "Q3":
            return q3(events)
        case "Q13":
            rows = [SideRow(number, str(number)) for number in range(SIDE_ROWS)]
            return q13(events, p.read(sources.items(rows), name="side_rows"))
    if (timed := TIMED_QUERIES.get(name.upper())) is not None:  # the source knows its watermark
        return timed(events.event_time(lambda event: event.at, unit="ms", lag=SOURCE))
    msg = f"NEXMark has no query {name!r} here{did_you_mean(name.upper(), (*QUERIES, *TIMED_QUERIES))}"
    raise UserError(msg)
