"""What the queries of NEXMark find, so that pipelines can be compared with it."""

from __future__ import annotations

from collections import Counter

import pytest
from support.nexmark.nexmark_oracles import q0, q1, q2, q3, q13, side_table

from heronpy.nexmark import Bid, Event, GeneratorConfig, NexmarkSource, Person


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return list(GeneratorConfig(events=10_000).generate())


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(events: list[Event]) -> None:
    kinds = Counter(type(event).__name__ for event in q0(events))
    assert kinds == {"Person": 200, "Auction": 600, "Bid": 9200}


def test_prices_are_converted(events: list[Event]) -> None:
    found = q1(events)
    assert len(found) == 9200
    assert found[0] == events[4]._replace(price=28951700)  # type: ignore[call-arg]  # a Bid
    assert sum(bid.price for bid in found) == 60154102700


def test_bids_on_some_auctions_are_selected(events: list[Event]) -> None:
    found = q2(events)
    assert (len(found), sum(price for _, price in found)) == (22, 159224884)
    assert {auction % 123 for auction, _ in found} == {0}


def test_sellers_in_three_states_are_found_with_their_auctions(events: list[Event]) -> None:
    found = q3(events)
    assert len(found) == 17
    assert {state for _, _, state, _ in found} == {"CA", "ID", "OR"}


def test_an_auction_is_found_also_before_its_seller(events: list[Event]) -> None:
    assert Counter(q3(reversed(events))) == Counter(q3(events))


def test_bids_are_joined_with_the_table(events: list[Event]) -> None:
    found = q13(events, side_table())
    assert len(found) == 9200
    assert all(bid.extra == str(bid.bidder % 500) for bid in found)
    assert [bid.price for bid in found] == [event.price for event in events if isinstance(event, Bid)]


def test_the_queries_see_the_same_records_whatever_the_number_of_generators(events: list[Event]) -> None:
    """Only times differ: those of several generators run side by side."""
    configs = NexmarkSource(events=10_000, generators=4).configs()
    split = [event for config in configs for event in config.generate()]
    assert Counter(q2(split)) == Counter(q2(events))
    assert Counter(q3(split)) == Counter(q3(events))
    people = [event.id for event in split if isinstance(event, Person)]
    assert sorted(people) == list(range(1000, 1200))
