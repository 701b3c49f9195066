"""The queries of NEXMark over auctions that have closed, with Apache Beam's meaning: they begin with Q9."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from heronpy.nexmark.nexmark_records import Auction, Bid, Event
from heronpy.pipeline import Context, Stream, Timer, sliding

#: how long a bid waits for its auction, in event time
PATIENCE = timedelta(minutes=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)


class Sale(NamedTuple):
    """A result of Q9: an auction with the bid that has won it."""

    auction: Auction
    bid: Bid


class CategoryPrice(NamedTuple):
    """A result of Q4."""

    category: int
    price: int
    until: datetime


class SellerPrice(NamedTuple):
    """A result of Q6."""

    seller: int
    price: int


@dataclass
class OpenAuction:
    """What Q9 knows of an auction until it closes."""

    auction: Auction | None = None
    bids: list[Bid] = field(default_factory=list)


def offered(lot: OpenAuction, event: Auction | Bid, context: Context[int]) -> Iterator[Sale]:
    """Auctions wait until they close, and bids for their auction."""
    if isinstance(event, Auction):
        lot.auction = event
        context.timer(_time(event.expires))
    else:
        lot.bids.append(event)
        if lot.auction is None and len(lot.bids) == 1:
            context.timer(_time(event.at) + PATIENCE)
    yield from ()


def closed(lot: OpenAuction, timer: Timer, context: Context[int]) -> Iterator[Sale]:
    """The highest fair bid wins; of equal ones, the first."""
    auction = lot.auction
    if auction is None:
        lot.bids = [bid for bid in lot.bids if _time(bid.at) + PATIENCE > timer.at]
        if lot.bids:
            context.timer(_time(max(bid.at for bid in lot.bids)) + PATIENCE)
            return
    elif fair := [bid for bid in lot.bids if bid.price >= auction.reserve and _in_time(bid, auction)]:
        yield Sale(auction, min(fair, key=lambda bid: (-bid.price, bid.at, bid.bidder)))
    context.clear()


def q9(events: Stream[Event], name: str = "winning") -> Stream[Sale]:
    """The winning bid of each auction, when it has closed."""
    return (
        events.only(Auction, Bid)
        .key_by(lambda event: event.id if isinstance(event, Auction) else event.auction, name=f"lot_{name}")
        .process(OpenAuction, offered, on_timer=closed, name=name)
    )


def q4(events: Stream[Event]) -> Stream[CategoryPrice]:
    """The mean price of each category, over the auctions that closed in the last ten seconds, every five."""
    return (
        q9(events, "winning_in_category")
        .key_by(lambda sale: sale.auction.category, name="by_category")
        .window(sliding("10s", every="5s"))
        .mean(lambda sale: sale.bid.price, name="mean_price")
        .map(lambda r: CategoryPrice(r.key, _rounded(r.value), r.window.end), name="category_prices")
    )


@dataclass
class Sales:
    """What Q6 knows of a seller: sales that others may have to go before, and the last ten."""

    waiting: list[Sale] = field(default_factory=list)
    last: list[Sale] = field(default_factory=list)


def sold(sales: Sales, sale: Sale, context: Context[int]) -> Iterator[SellerPrice]:
    """A sale waits until no auction can have closed before it: tasks are not equally fast."""
    sales.waiting.append(sale)
    context.timer(_next(sales))
    yield from ()


def priced(sales: Sales, timer: Timer, context: Context[int]) -> Iterator[SellerPrice]:
    """A result for each sale, in the order in which the auctions closed."""
    sales.waiting.sort(key=lambda sale: (sale.auction.expires, sale.auction.id))
    while sales.waiting and _time(sales.waiting[0].auction.expires) < timer.at:
        known = [*sales.last, sales.waiting.pop(0)]
        sales.last = sorted(known, key=lambda sale: (sale.bid.at, sale.bid.price, sale.auction.id))[-10:]
        prices = [sale.bid.price for sale in sales.last]
        yield SellerPrice(context.key, _rounded(sum(prices) / len(prices)))
    if sales.waiting:
        context.timer(_next(sales))


def q6(events: Stream[Event]) -> Stream[SellerPrice]:
    """The mean price of each seller's last ten sales, with each sale."""
    sales = q9(events, "winning_of_seller")
    by_seller = sales.key_by(lambda sale: sale.auction.seller, name="by_sales")
    return by_seller.process(Sales, sold, on_timer=priced, name="seller_prices")


def _in_time(bid: Bid, auction: Auction) -> bool:
    return bid.at < auction.expires and _time(auction.at) < _time(bid.at) + PATIENCE


def _next(sales: Sales) -> datetime:
    """When all is there that closed before or together with the first of those that wait."""
    return _time(min(sale.auction.expires for sale in sales.waiting)) + _MOMENT


def _rounded(mean: float) -> int:
    return math.floor(mean + 0.5)  # halves up, as in Java


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
