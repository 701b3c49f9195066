"""The queries of NEXMark that need no event time, over all events: what pipelines are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heronpy.nexmark import Auction, Bid, Event, Person

#: rows of the table that Q13 joins with
SIDE_ROWS = 500
#: Q2 selects bids on one of so many auctions
SKIP = 123


def q0(events: Iterable[Event]) -> list[Event]:
    """Everything, as it is."""
    return list(events)


def q1(events: Iterable[Event]) -> list[Bid]:
    """Bids with their price in euros."""
    return [bid._replace(price=bid.price * 89 // 100) for bid in _bids(events)]


def q2(events: Iterable[Event]) -> list[tuple[int, int]]:
    """Auction and price of the bids on some auctions."""
    return [(bid.auction, bid.price) for bid in _bids(events) if bid.auction % SKIP == 0]


def q3(events: Iterable[Event]) -> list[tuple[str, str, str, int]]:
    """Who sells in three states in a category: name, city, state and auction."""
    every = list(events)
    people = {event.id: event for event in every if isinstance(event, Person)}
    found = []
    for auction in every:
        if isinstance(auction, Auction) and auction.category == 10:
            seller = people.get(auction.seller)
            if seller is not None and seller.state in ("OR", "ID", "CA"):
                found.append((seller.name, seller.city, seller.state, auction.id))
    return found


def side_table() -> Mapping[int, str]:
    """What Q13 joins bids with."""
    return {row: str(row) for row in range(SIDE_ROWS)}


def q13(events: Iterable[Event], table: Mapping[int, str]) -> list[Bid]:
    """Bids, each with a value of a table that is there before."""
    return [bid._replace(extra=table[bid.bidder % SIDE_ROWS]) for bid in _bids(events)]


def _bids(events: Iterable[Event]) -> Iterable[Bid]:
    return (event for event in events if isinstance(event, Bid))
