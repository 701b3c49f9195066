"""The queries of NEXMark in windows, over all events at once, by sorting and grouping alone."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from heronpy.nexmark import Auction, Bid, Event, Person

#: milliseconds
SIZE, SLIDE, GAP = 10_000, 5_000, 10_000


def q5(events: Iterable[Event]) -> list[tuple[int, int, datetime]]:
    """Auction, bids and end of the window: all that share the first place."""
    windows: dict[int, Counter[int]] = defaultdict(Counter)
    for bid in _bids(events):
        newest = bid.at // SLIDE * SLIDE
        for start in (newest - SLIDE, newest):
            windows[start + SIZE][bid.auction] += 1
    return [
        (auction, count, _time(end))
        for end, counts in windows.items()
        for auction, count in counts.items()
        if count == max(counts.values())
    ]


def q7(events: Iterable[Event]) -> list[Bid]:
    """The bids with the highest price of their ten seconds."""
    found = []
    for _, window in itertools.groupby(sorted(_bids(events), key=lambda b: b.at), lambda b: b.at // SIZE):
        bids = list(window)
        highest = max(bid.price for bid in bids)
        found += [bid for bid in bids if bid.price == highest]
    return found


def q8(events: Iterable[Event]) -> list[tuple[int, str, int]]:
    """People with the auctions that they opened in the ten seconds in which they came."""
    every = list(events)
    people = [event for event in every if isinstance(event, Person)]
    return [
        (person.id, person.name, auction.reserve)
        for auction in every
        if isinstance(auction, Auction)
        for person in people
        if person.id == auction.seller and person.at // SIZE == auction.at // SIZE
    ]


def q11(events: Iterable[Event]) -> list[tuple[int, int, datetime, datetime]]:
    """Bidder, bids, start and end of each session."""
    times: dict[int, list[int]] = defaultdict(list)
    for bid in _bids(events):
        times[bid.bidder].append(bid.at)
    found = []
    for bidder, at in times.items():
        at.sort()
        cuts = [0, *(i for i in range(1, len(at)) if at[i] - at[i - 1] >= GAP), len(at)]
        for begin, end in itertools.pairwise(cuts):
            found.append((bidder, end - begin, _time(at[begin]), _time(at[end - 1] + GAP)))
    return found


def q9(events: Iterable[Event]) -> list[tuple[Auction, Bid]]:
    """Each auction with the first of the highest bids that its seller had to accept."""
    every = list(events)
    bids: dict[int, list[Bid]] = defaultdict(list)
    for bid in _bids(every):
        bids[bid.auction].append(bid)
    found = []
    for lot in every:
        if not isinstance(lot, Auction):
            continue
        # a bid on an auction that is yet to come is good for a minute
        good = [b for b in bids[lot.id] if b.at < lot.expires and lot.at - b.at < 60_000]
        best = max((b.price for b in good), default=-1)
        if best >= lot.reserve:
            winners = [b for b in good if b.price == best]
            winners.sort(key=lambda b: (b.at, b.bidder))
            found.append((lot, winners[0]))
    return found


def q4(events: Iterable[Event]) -> list[tuple[int, int, datetime]]:
    """Category, mean price and end of the window, which has the auctions that closed in it."""
    prices: dict[tuple[int, int], list[int]] = defaultdict(list)
    for lot, bid in q9(events):
        newest = lot.expires // SLIDE * SLIDE
        for start in (newest - SLIDE, newest):
            prices[lot.category, start + SIZE].append(bid.price)
    return [(category, _half_up(found), _time(end)) for (category, end), found in prices.items()]


def q6(events: Iterable[Event]) -> list[tuple[int, int]]:
    """Seller and mean price of the last ten sales, as of each sale."""
    sales: dict[int, list[tuple[Auction, Bid]]] = defaultdict(list)
    for lot, bid in q9(events):
        sales[lot.seller].append((lot, bid))
    found = []
    for seller, own in sales.items():
        own.sort(key=lambda sale: (sale[0].expires, sale[0].id))
        for number in range(1, len(own) + 1):
            newest = sorted(own[:number], key=lambda sale: (sale[1].at, sale[1].price, sale[0].id))
            found.append((seller, _half_up([bid.price for _, bid in newest[-10:]])))
    return found


def q12(events: Iterable[Event]) -> Counter[int]:
    """How many bids each bidder has made."""
    return Counter(bid.bidder for bid in _bids(events))


def _half_up(prices: list[int]) -> int:
    return (2 * sum(prices) + len(prices)) // (2 * len(prices))


def _bids(events: Iterable[Event]) -> list[Bid]:
    return [event for event in events if isinstance(event, Bid)]


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
