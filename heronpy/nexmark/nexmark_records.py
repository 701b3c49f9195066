"""The three kinds of NEXMark events."""

from __future__ import annotations

from typing import NamedTuple


class Person(NamedTuple):
    """Somebody who sells or bids; `at` is in milliseconds since the epoch."""

    id: int
    name: str
    email_address: str
    credit_card: str
    city: str
    state: str
    at: int
    extra: str


class Auction(NamedTuple):
    """An item for sale until `expires`; prices are in cents, and no lower bid than `reserve` wins."""

    id: int
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    at: int
    expires: int
    seller: int
    category: int
    extra: str


class Bid(NamedTuple):
    """An offer of a person for the item of an auction."""

    auction: int
    bidder: int
    price: int
    at: int
    extra: str


Event = Person | Auction | Bid
