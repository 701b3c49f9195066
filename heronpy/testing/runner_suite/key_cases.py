"""Cases with keys: what is kept and calculated for each."""

from __future__ import annotations

import decimal
import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from heronpy.pipeline import Context, Stream, Tag, agg
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps

book = CaseBook()

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "and",
    "the",
    "cat",
    "sees",
    "the",
    "fox",
]


@book.case((key, [n for n in range(700) if n % 7 == key], [-key]) for key in range(7))
def group_by_key_has_all_values_once(t: CaseSteps) -> Stream[Any]:
    numbers = t.read(range(700), "numbers", parts=4)
    marks = t.read([-key for key in range(7)], "marks")
    grouped = numbers.key_by(lambda n: n % 7).co_group(marks.key_by(lambda n: -n), name=t.name("group"))
    return grouped.map(lambda r: (r.key, sorted(r.value[0]), r.value[1]))


class _One(enum.IntEnum):
    ONE = 1


KEYS: list[Any] = [
    1,
    1.0,
    True,
    decimal.Decimal(1),
    decimal.Decimal("1.00"),
    _One.ONE,
    "1",
    b"1",
    (1,),
    (1.0,),
]


@book.case([("a number", 6), ("str", 1), ("bytes", 1), ("tuple", 2)])
def equal_keys_are_one_key(t: CaseSteps) -> Stream[Any]:
    counts = t.read(KEYS, parts=2).key_by(lambda key: key).count(name=t.name("count"))
    return counts.map(lambda pair: ("a number" if pair[0] == 1 else type(pair[0]).__name__, pair[1]))


@book.case([("hot", 0), ("cold", 0)])
def hot_key_with_many_values(t: CaseSteps) -> Stream[Any]:
    """How many are missing: no record is combined before it has crossed to the task of its key."""
    numbers = t.read(range(t.hot_values + 10), parts=2)
    hot = numbers.key_by(lambda n: "hot" if n >= 10 else "cold")
    counts = hot.aggregate(agg.fold(int, lambda n, _: n + 1), name=t.name("count"))
    wanted = {"hot": t.hot_values, "cold": 10}
    return counts.map(lambda pair: (pair[0], wanted[pair[0]] - pair[1]))


@book.case(
    (way, length, total) for way in ("lifted", "one by one") for length, total in [(3, 27), (4, 12), (5, 15)]
)
def combined_before_the_exchange_or_behind_it(t: CaseSteps) -> Stream[Any]:
    by_length = t.read(WORDS, parts=3).key_by(len)
    lifted = by_length.aggregate(agg.sum(len), name=t.name("lifted"))
    behind = by_length.aggregate(agg.fold(int, lambda n, word: n + len(word)), name=t.name("behind"))
    return lifted.map(lambda pair: ("lifted", *pair)).merge(behind.map(lambda pair: ("one by one", *pair)))


@book.case([("vowels", "aeiou"), ("others", "bcdfghjklmnpqrstvwxyz")])
def records_of_one_split_keep_their_order_per_key(t: CaseSteps) -> Stream[Any]:
    letters = t.read("abcdefghijklmnopqrstuvwxyz")
    by_kind = letters.key_by(lambda letter: "vowels" if letter in "aeiou" else "others")
    return by_kind.aggregate(agg.fold(str, lambda text, letter: text + letter), name=t.name("text"))


@book.case([])
def an_aggregate_of_nothing_has_no_result(t: CaseSteps) -> Stream[Any]:
    """Neither 0 nor None: as a key without records has none."""
    nothing = t.read(["a", "b"], parts=2).filter(lambda _: False)
    mean = nothing.aggregate(agg.mean(len), name=t.name("mean"))
    return nothing.count(name=t.name("count")).merge(mean, nothing.top(2, by=len, name=t.name("top")))


@book.case([{"n": 15, "letters": 54, "longest": 5}, 11])
def aggregates_of_all_records(t: CaseSteps) -> Stream[Any]:
    words = t.read(WORDS, parts=2)
    several = agg.of(n=agg.count(), letters=agg.sum(len), longest=agg.max(len))
    whole = words.aggregate(several, name=t.name("of"))
    return whole.merge(words.aggregate(agg.distinct(), name=t.name("distinct")))


@book.case(
    [*{*WORDS}, [("the", 4), ("fox", 2)], (3, ["the", "the"]), (4, ["sees", "over"]), (5, ["quick", "jumps"])]
)
def dedup_and_top(t: CaseSteps) -> Stream[Any]:
    words = t.read(WORDS, parts=2)
    by_word = words.key_by(lambda word: word)
    first = by_word.dedup(name=t.name("dedup"))
    most = by_word.count(name=t.name("count")).top(2, by=lambda pair: pair[1], name=t.name("most"))
    last = words.key_by(len).top(2, by=lambda word: word, name=t.name("last"))
    return first.merge(most, last)


@book.case([("a", 1), ("b", 10), ("a", 3), ("b", 30), ("a", 6)])
def rolling_has_a_result_for_each_record(t: CaseSteps) -> Stream[Any]:
    pairs = t.read([("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 3)])
    return pairs.key_by(lambda pair: pair[0]).rolling(agg.sum(lambda pair: pair[1]), name=t.name("sum"))


@book.case(
    [
        (1, ["and", "brown", "cat", "dog", "jumps", "lazy", "over", "quick", "sees"]),
        (2, ["fox"]),
        (4, ["the"]),
    ]
)
def two_keyed_steps_in_a_chain(t: CaseSteps) -> Stream[Any]:
    counts = t.read(WORDS, parts=2).key_by(lambda word: word).count(name=t.name("count"))
    words_of = counts.key_by(lambda pair: pair[1]).aggregate(agg.to_list(), name=t.name("words"))
    return words_of.map(lambda pair: (pair[0], sorted(word for word, _ in pair[1])))


ONES, TWOS, LARGE = Tag[str]("ones"), Tag[int]("twos"), Tag[tuple[int, ...]]("large")


def _routed(state: list[None], n: int, context: Context[int]) -> Iterator[int]:  # noqa: ARG001
    if n > 7:
        context.side(LARGE, (n,))
    if n % 3 == 1:
        context.side(ONES, f"one {n}")
    elif n % 3 == 2:
        context.side(TWOS, -n)
    else:
        yield n


@book.case([0, 3, 6, 9, "one 1", "one 4", "one 7", -2, -5, -8, (8,), (9,)])
def side_outputs_with_three_tags(t: CaseSteps) -> Stream[Any]:
    routed = t.read(range(10)).key_by(lambda n: n % 2).process(list[None], _routed, name=t.name("route"))
    return routed.merge(routed[ONES], routed[TWOS], routed[LARGE])


#: account, movement; "close" begins anew
MOVEMENTS = [("ann", 5), ("bob", 7), ("ann", -2), ("ann", "close"), ("bob", 1), ("ann", 4), ("bob", "close")]


@dataclass
class _Account:
    balance: int = 0


def _balance(account: _Account, move: tuple[str, Any], context: Context[str]) -> Iterator[Any]:
    if move[1] == "close":
        yield "closed", context.key, account.balance
        context.clear()
    else:
        account.balance += move[1]


def _listed(moves: list[Any], move: tuple[str, Any], context: Context[str]) -> Iterable[Any]:
    moves.append(move[1])
    if move[1] == "close":
        context.clear()
        return [("moves", context.key, tuple(moves))]
    return []


def _mapped(signs: dict[bool, int], move: tuple[str, Any], context: Context[str]) -> Iterator[Any]:
    if move[1] == "close":
        yield "signs", context.key, sorted(signs.items())
        context.clear()
    else:
        signs[move[1] > 0] = signs.get(move[1] > 0, 0) + 1


@book.case(
    [
        ("closed", "ann", 3),
        ("closed", "bob", 8),
        ("moves", "ann", (5, -2, "close")),
        ("moves", "bob", (7, 1, "close")),
        ("signs", "ann", [(False, 1), (True, 1)]),
        ("signs", "bob", [(True, 2)]),
    ]
)
def state_is_an_object_a_list_or_a_map_until_it_is_cleared(t: CaseSteps) -> Stream[Any]:
    by_account = t.read(MOVEMENTS).key_by(lambda move: move[0])
    closed = by_account.process(_Account, _balance, name=t.name("balance"))
    moves = by_account.process(list[Any], _listed, name=t.name("moves"))
    return closed.merge(moves, by_account.process(dict[bool, int], _mapped, name=t.name("signs")))


@book.case([("long", 500, 1)])
def the_end_of_all_inputs_closes_every_step(t: CaseSteps) -> Stream[Any]:
    """Steps in a row that speak at the end, behind inputs that end at different times."""
    nothing: list[int] = []
    many = t.read(range(500), "many", parts=3).merge(t.read(nothing, "none"))
    counts = many.key_by(lambda _: "long").count(name=t.name("count"))
    both = counts.key_by(lambda pair: pair[0]).co_group(
        t.read(["long"], "one").key_by(lambda word: word), name=t.name("both")
    )
    return both.map(lambda r: (r.key, r.value[0][0][1], len(r.value[1])))
