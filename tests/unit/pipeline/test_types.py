"""What mypy infers of pipelines: `make types` fails if a lambda is not inferred or a typo is not found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, assert_type

from heronpy.pipeline import Context, Failed, KeyedStream, Pipeline, Result, Stream, Tag, agg, sources


@dataclass(frozen=True)
class Person:
    id: int
    name: str
    state: str


@dataclass(frozen=True)
class Auction:
    id: int
    seller: int
    category: int


@dataclass(frozen=True)
class Bid:
    auction: int
    price: int
    at: float


@dataclass
class Seller:
    """NEXMark Q3: the state of one seller."""

    person: Person | None = None
    waiting: list[Auction] = field(default_factory=list)


def suggest(seller: Seller, event: Person | Auction, context: Context[int]) -> Iterator[tuple[str, int]]:
    if isinstance(event, Person):
        seller.person, auctions, seller.waiting = event, seller.waiting, []
    elif seller.person is None:
        seller.waiting.append(event)
        return
    else:
        auctions = [event]
    for auction in auctions:
        yield seller.person.name, auction.id


def events() -> Stream[Person | Auction | Bid]:
    kept: list[Person | Auction | Bid] = []
    return Pipeline("nexmark").read(sources.items(kept))


def test_each_lambda_is_inferred_in_the_queries_of_nexmark_that_need_no_time() -> None:
    everything = events()
    bids, auctions, people = everything.only(Bid), everything.only(Auction), everything.only(Person)
    assert_type(bids, Stream[Bid])
    assert_type(everything.only(Auction, Bid), Stream[Auction | Bid])

    q1 = bids.map(lambda b: replace(b, price=b.price * 89 // 100))
    assert_type(q1, Stream[Bid])
    q2 = bids.filter(lambda b: b.auction % 123 == 0).map(lambda b: (b.auction, b.price))
    assert_type(q2, Stream[tuple[int, int]])
    q3 = (
        people.filter(lambda p: p.state in {"OR", "ID", "CA"})
        .merge(auctions.filter(lambda a: a.category == 10))
        .key_by(lambda e: e.id if isinstance(e, Person) else e.seller)
        .process(Seller, suggest, name="suggest")
    )
    assert_type(q3, Stream[tuple[str, int]])
    q13 = bids.hash_join(auctions, on=lambda b: b.auction, key=lambda a: a.id)
    assert_type(q13, Stream[tuple[Bid, Auction]])
    assert_type(
        bids.hash_join(auctions, on=lambda b: b.auction, key=lambda a: a.id, how="left"),
        Stream[tuple[Bid, Auction | None]],
    )


def test_keyed_steps_keep_key_and_result_apart() -> None:
    everything = events()
    by_auction = everything.only(Bid).key_by(lambda b: b.auction)
    assert_type(by_auction, KeyedStream[int, Bid])
    assert_type(by_auction.count(), Stream[tuple[int, int]])
    assert_type(by_auction.top(3, by=lambda b: b.price), Stream[tuple[int, list[Bid]]])
    assert_type(by_auction.dedup(), Stream[Bid])
    assert_type(by_auction.aggregate(agg.mean(lambda b: b.price)), Stream[tuple[int, float]])
    assert_type(by_auction.aggregate(agg.max(lambda b: b.price)), Stream[tuple[int, int]])
    assert_type(by_auction.rolling(agg.last(10, by=lambda b: (b.at, b.price))), Stream[tuple[int, list[Bid]]])
    auctions = everything.only(Auction).key_by(lambda a: a.id)
    assert_type(by_auction.join(auctions), Stream[Result[int, tuple[Bid, Auction]]])
    assert_type(
        by_auction.join(auctions, how="outer"), Stream[Result[int, tuple[Bid | None, Auction | None]]]
    )
    assert_type(
        auctions.co_group(by_auction).flat_map(lambda r: [(a.seller, len(r.value[1])) for a in r.value[0]]),
        Stream[tuple[int, int]],
    )


def test_side_outputs_and_errors_have_types_of_their_own() -> None:
    slow = Tag[float]("slow")
    lines = Pipeline("parsing").read(sources.items(["1", "x"]))
    parsed = lines.map(int, on_error="aside")
    assert_type(parsed, Stream[int])
    assert_type(parsed.errors.map(lambda f: f.step), Stream[str])
    failed: Stream[Failed[str]] = parsed.errors

    def measure(state: list[int], value: int, context: Context[str]) -> Iterator[int]:
        context.side(slow, value / 2)
        yield value

    measured = parsed.key_by(lambda i: str(i)).process(list[int], measure)
    assert_type(measured[slow], Stream[float])
    assert failed.bounded


def test_a_typo_in_a_field_is_found() -> None:
    bids = events().only(Bid)
    bids.map(lambda b: b.prize)  # type: ignore[attr-defined]
    bids.key_by(lambda b: b.auction).top(3, by=lambda b: b.prize)  # type: ignore[attr-defined]
    bids.key_by(lambda b: b.auction).aggregate(agg.sum(lambda b: b.prize))  # type: ignore[attr-defined]
    bids.map(lambda b: b.price).filter(lambda price: price.startswith("1"))  # type: ignore[attr-defined]
    joined = bids.hash_join(bids, on=lambda b: b.auction, key=lambda b: b.auktion)  # type: ignore[attr-defined]
    assert joined.bounded
    several = bids.key_by(lambda b: b.auction).aggregate(
        agg.of(bids=agg.count(), price=agg.sum(lambda b: b.prize))  # type: ignore[attr-defined]
    )
    assert_type(several, Stream[tuple[int, dict[str, Any]]])


class Trip(TypedDict):
    zone: str
    km: float


def test_a_source_of_files_has_the_class_that_is_named() -> None:
    p = Pipeline("trips")
    assert_type(p.read(sources.csv("trips.csv")), Stream[dict[str, str]])
    trips = p.read(sources.csv("trips.csv", type=Trip))
    assert_type(trips, Stream[Trip])
    assert_type(
        trips.key_by(lambda t: t["zone"]).aggregate(agg.sum(lambda t: t["km"])), Stream[tuple[str, float]]
    )
    trips.map(lambda t: t["miles"])  # type: ignore[typeddict-item]
    assert_type(p.read(sources.json_lines("bids.jsonl", type=Bid)), Stream[Bid])
    assert_type(p.read(sources.parquet("bids.parquet", type=Bid)), Stream[Bid])
