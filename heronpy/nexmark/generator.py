"""The generator of NEXMark events: the same number gives the same event, as in Apache Beam."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from heronpy.nexmark.java_random import JavaRandom
from heronpy.nexmark.nexmark_records import Auction, Bid, Event, Person
from heronpy.nexmark.texts import next_extra, next_price, next_text

#: of so many events in a row, the first is a person, the next three are auctions, the others bids
EPOCH = 50
AUCTIONS = 3
FIRST_PERSON_ID = 1000
FIRST_AUCTION_ID = 1000
FIRST_CATEGORY_ID = 10
#: 2015-07-15T00:00:00Z, in milliseconds
BASE_TIME = 1_436_918_400_000

#: ids that are not yet created and are used all the same
_LEAD = 10
#: one of so many people and auctions is hot
_HOT = 100
_HOT_AUCTION_RATIO = 2
_HOT_SELLER_RATIO = 4
_HOT_BIDDER_RATIO = 4
_IN_FLIGHT_AUCTIONS = 100
_ACTIVE_PEOPLE = 1000
_CATEGORIES = 5
_PERSON_SIZE, _AUCTION_SIZE, _BID_SIZE = 200, 500, 100

_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
_FIRST_NAMES = [
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
]
_LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]


@dataclass(frozen=True)
class GeneratorConfig:
    """Which events a generator makes, and when they happen. The defaults are Beam's.

    >>> [type(event).__name__ for event in GeneratorConfig(events=5).generate()]
    ['Person', 'Auction', 'Auction', 'Auction', 'Bid']
    """

    events: int = 100_000
    #: that share the rate: each is as many times slower
    generators: int = 1
    #: events per second of all generators, in event time
    rate: int = 10_000
    #: events are mixed up within groups of so many
    out_of_order: int = 1
    base_time: int = BASE_TIME
    #: ids are unique over all generators and decide what an event is; numbers decide when it happens
    first_id: int = 0

    def split(self, count: int) -> list[GeneratorConfig]:
        """Generators with ids of their own, all from the same time on; the last has the remainder."""
        each = self.events // count
        events = [each] * (count - 1) + [self.events - each * (count - 1)]
        return [
            replace(self, first_id=self.first_id + each * index, events=events[index])
            for index in range(count)
        ]

    def timestamp(self, number: int) -> int:
        """When the event of this number happens, in milliseconds since the epoch."""
        period = (1_000_000 + self.rate // 2) // self.rate * self.generators
        return self.base_time + number * period // 1000

    def adjusted(self, count: int) -> int:
        """The number of the event that is made after `count` others."""
        group = self.out_of_order
        return count // group * group + count * 953 % group

    def watermark(self, count: int) -> int:
        """After `count` events, none is older than this."""
        return self.timestamp(count // self.out_of_order * self.out_of_order)

    def generate(self, begin: int = 0, end: int | None = None) -> Iterator[Event]:
        """The events in order: those from `begin` to below `end` only, if given."""
        for count in range(begin, self.events if end is None else end):
            yield self.event(count)

    def event(self, count: int) -> Event:
        """The event that is made after `count` others."""
        number = self.adjusted(count)
        event_id = self.first_id + number
        random, at = JavaRandom(event_id), self.timestamp(number)
        kind = event_id % EPOCH
        if kind == 0:
            return _person(event_id, random, at)
        if kind <= AUCTIONS:
            return self._auction(event_id, number, random, at)
        return _bid(event_id, random, at)

    def _auction(self, event_id: int, number: int, random: JavaRandom, at: int) -> Auction:
        if random.below(_HOT_SELLER_RATIO) > 0:
            seller = _last_person(event_id) // _HOT * _HOT
        else:
            seller = _any_person(event_id, random)
        category = FIRST_CATEGORY_ID + random.below(_CATEGORIES)
        initial_bid = next_price(random)
        expires = at + self._length(number, random, at)
        name, description = next_text(random, 20), next_text(random, 100)
        reserve = initial_bid + next_price(random)
        extra = next_extra(random, 48 + len(name) + len(description), _AUCTION_SIZE)
        return Auction(
            _last_auction(event_id) + FIRST_AUCTION_ID,
            name,
            description,
            initial_bid,
            reserve,
            at,
            expires,
            seller + FIRST_PERSON_ID,
            category,
            extra,
        )

    def _length(self, number: int, random: JavaRandom, at: int) -> int:
        """How long an auction is open: on average, until as many have begun as are open at a time."""
        horizon = self.timestamp(number + _IN_FLIGHT_AUCTIONS * EPOCH // AUCTIONS) - at
        return 1 + _below(random, max(horizon * 2, 1))


def _person(event_id: int, random: JavaRandom, at: int) -> Person:
    below = random.below
    name = f"{_FIRST_NAMES[below(len(_FIRST_NAMES))]} {_LAST_NAMES[below(len(_LAST_NAMES))]}"
    email = f"{next_text(random, 7)}@{next_text(random, 5)}.com"
    card = " ".join([f"{below(10_000):04d}" for _ in range(4)])
    city, state = _CITIES[below(len(_CITIES))], _STATES[below(len(_STATES))]
    size = 8 + len(name) + len(email) + len(card) + len(city) + len(state)
    extra = next_extra(random, size, _PERSON_SIZE)
    return Person(_last_person(event_id) + FIRST_PERSON_ID, name, email, card, city, state, at, extra)


def _bid(event_id: int, random: JavaRandom, at: int) -> Bid:
    last = _last_auction(event_id)
    if random.below(_HOT_AUCTION_RATIO) > 0:
        auction = last // _HOT * _HOT
    else:
        oldest = max(last - _IN_FLIGHT_AUCTIONS, 0)
        auction = oldest + _below(random, last - oldest + 1 + _LEAD)
    if random.below(_HOT_BIDDER_RATIO) > 0:
        bidder = _last_person(event_id) // _HOT * _HOT + 1  # the second, so that no hot seller bids
    else:
        bidder = _any_person(event_id, random)
    price = next_price(random)
    extra = next_extra(random, 32, _BID_SIZE)
    return Bid(auction + FIRST_AUCTION_ID, bidder + FIRST_PERSON_ID, price, at, extra)


def _last_person(event_id: int) -> int:
    """The newest person before or at this event, counted from 0."""
    return event_id // EPOCH


def _last_auction(event_id: int) -> int:
    """The newest auction before or at this event, counted from 0."""
    epoch, offset = divmod(event_id, EPOCH)
    return epoch * AUCTIONS + min(offset - 1, AUCTIONS - 1)


def _any_person(event_id: int, random: JavaRandom) -> int:
    """One of those who are active, or who come next."""
    people = _last_person(event_id) + 1
    active = min(people, _ACTIVE_PEOPLE)
    return people - active + _below(random, active + _LEAD)


def _below(random: JavaRandom, bound: int) -> int:
    """Beam's nextLong: skewed where the bound is no int, and kept so."""
    if bound < (1 << 31) - 1:
        return random.below(bound)
    drawn = random.long()
    return abs(drawn) % bound
