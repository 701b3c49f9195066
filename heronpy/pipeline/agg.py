"""Aggregates: how many records become one value, in one stage or in two.

>>> from heronpy.pipeline import agg
>>> agg.mean(lambda trip: trip["km"]).over([{"km": 2}, {"km": 4}])
3.0
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from heronpy.kernel.errors import UserError
from heronpy.kernel.own_copies import own_copy

T = TypeVar("T")
A = TypeVar("A")
X = TypeVar("X")
N = TypeVar("N", int, float)
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Aggregate(Generic[T_contra, A, R_co]):
    """Five functions over an accumulator. `create` makes an empty one, `add` gives it back with a record in
    it, `finish` makes the result of it and leaves it as it is.

    With `combine` tasks aggregate what they have before it crosses the network. It must be associative, and
    `create()` must change nothing; the order in which the accumulators of tasks are combined is not known.
    `deduct(combine(a, b), b)` is `a`: windows that slide need it.

        >>> longest = Aggregate("longest", create=lambda: "", add=lambda a, w: builtins.max(a, w, key=len),
        ...                     finish=lambda a: a, combine=lambda a, b: builtins.max(a, b, key=len))
        >>> longest.over(["to", "stream", "or", "not"])
        'stream'
    """

    name: str
    create: Callable[[], A]
    add: Callable[[A, T_contra], A]
    finish: Callable[[A], R_co]
    combine: Callable[[A, A], A] | None = None
    deduct: Callable[[A, A], A] | None = None
    #: the result for a part of the records is what they change, also where more of them are taken back than
    #: added: results of parts add up, as counts and sums do, and means do not
    additive: bool = False

    def over(self, records: Iterable[T_contra]) -> R_co:
        """The aggregate of these records, here and now: to try one out."""
        accumulator = self.create()
        for record in records:
            accumulator = self.add(accumulator, record)
        return self.closed(accumulator)

    def closed(self, accumulator: A) -> R_co:
        """The result of an accumulator that is not used any more: a fold need not copy it."""
        as_it_is: Any = accumulator
        result: R_co = as_it_is if self.finish is own_copy else self.finish(accumulator)
        return result


def _same(accumulator: A) -> A:
    return accumulator


def count() -> Aggregate[Any, int, int]:
    """How many.

    >>> count().over("abc")
    3
    """
    return Aggregate(
        "count", int, lambda a, _: a + 1, _same, lambda a, b: a + b, lambda a, b: a - b, additive=True
    )


def sum(by: Callable[[T], N]) -> Aggregate[T, N, N]:  # noqa: A001 - agg.sum, as users know it
    """The sum of what `by` gives. Floats are added in the order of arrival.

    >>> sum(len).over(["to", "be"])
    4
    """
    zero: Any = 0
    return Aggregate(
        "sum",
        lambda: zero,
        lambda a, r: a + by(r),
        _same,
        lambda a, b: a + b,
        lambda a, b: a - b,
        additive=True,
    )


def mean(by: Callable[[T], float]) -> Aggregate[T, tuple[int, float], float]:
    """The mean of what `by` gives.

    >>> mean(len).over(["to", "question"])
    5.0
    """
    return Aggregate(
        "mean",
        lambda: (0, 0),
        lambda a, r: (a[0] + 1, a[1] + by(r)),
        lambda a: a[1] / a[0],
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda a, b: (a[0] - b[0], a[1] - b[1]),
    )


def _extreme(name: str, by: Callable[[T], X], choose: Callable[..., X]) -> Aggregate[T, tuple[X, ...], X]:
    def combine(a: tuple[X, ...], b: tuple[X, ...]) -> tuple[X, ...]:
        return (choose(a[0], b[0]),) if a and b else a or b

    return Aggregate(name, tuple, lambda a, r: combine(a, (by(r),)), lambda a: a[0], combine)


def min(by: Callable[[T], X]) -> Aggregate[T, tuple[X, ...], X]:  # noqa: A001 - agg.min, as users know it
    """The least of what `by` gives.

    >>> min(len).over(["or", "not"])
    2
    """
    return _extreme("min", by, builtins.min)


def max(by: Callable[[T], X]) -> Aggregate[T, tuple[X, ...], X]:  # noqa: A001 - agg.max, as users know it
    """The greatest of what `by` gives; `maxima` gives the records that have it.

    >>> max(len).over(["or", "not"])
    3
    """
    return _extreme("max", by, builtins.max)


def top(n: int, by: Callable[[T], Any]) -> Aggregate[T, list[T], list[T]]:
    """The `n` records with the greatest `by`, the greatest first.

    >>> top(2, by=len).over(["to", "be", "question", "not"])
    ['question', 'not']
    """
    _at_least_one("top", n)

    def cut(records: list[T]) -> list[T]:
        return sorted(records, key=by, reverse=True)[:n]

    return _bounded("top", n, cut)


def last(n: int, by: Callable[[T], Any]) -> Aggregate[T, list[T], list[T]]:
    """The `n` records with the greatest `by`, the greatest at the end: with a time, the newest.

    >>> last(2, by=lambda event: event[0]).over([(3, "c"), (1, "a"), (2, "b")])
    [(2, 'b'), (3, 'c')]
    """
    _at_least_one("last", n)

    def cut(records: list[T]) -> list[T]:
        return sorted(records, key=by)[-n:]

    return _bounded("last", n, cut)


def _bounded(name: str, n: int, cut: Callable[[list[T]], list[T]]) -> Aggregate[T, list[T], list[T]]:
    """Keeps up to 2n records and cuts them back to n, so that a record costs a share of one sort."""

    def add(kept: list[T], record: T) -> list[T]:
        kept.append(record)
        return kept if len(kept) < 2 * n else cut(kept)

    return Aggregate(name, list, add, cut, lambda a, b: cut(a + b))


def _at_least_one(name: str, n: int) -> None:
    if n < 1:
        msg = f"agg.{name}({n}, …) keeps nothing"
        raise UserError(msg, hint=f"agg.{name}(1, …)")


def maxima(by: Callable[[T], Any]) -> Aggregate[T, list[T], list[T]]:
    """All records that have the greatest `by`.

    >>> maxima(len).over(["to", "not", "the"])
    ['not', 'the']
    """

    def combine(a: list[T], b: list[T]) -> list[T]:
        if not a or not b:
            return a or b
        left, right = by(a[0]), by(b[0])
        if left == right:
            return a + b
        return a if left > right else b

    return Aggregate("maxima", list, lambda a, r: combine(a, [r]), list, combine)


def to_list() -> Aggregate[T, list[T], list[T]]:
    """All records. The order is that of arrival, which is none when several tasks take part.

    >>> to_list().over("ab")
    ['a', 'b']
    """

    def add(kept: list[T], record: T) -> list[T]:
        kept.append(record)
        return kept

    return Aggregate("to_list", list, add, list, lambda a, b: a + b)


def _added(kept: set[T], record: T) -> set[T]:
    kept.add(record)
    return kept


def to_set() -> Aggregate[T, set[T], set[T]]:
    """The different records.

    >>> sorted(to_set().over("abba"))
    ['a', 'b']
    """
    return Aggregate("to_set", set, _added, set, lambda a, b: a | b)


def distinct() -> Aggregate[Any, set[Any], int]:
    """How many different records.

    >>> distinct().over("abba")
    2
    """
    return Aggregate("distinct", set, _added, len, lambda a, b: a | b)


def reduce(fn: Callable[[T, T], T]) -> Aggregate[T, tuple[T, ...], T]:
    """Records put together two by two; `fn` must be associative.

    >>> reduce(lambda a, b: a * b).over([2, 3, 7])
    42
    """

    def combine(a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
        return (fn(a[0], b[0]),) if a and b else a or b

    return Aggregate("reduce", tuple, lambda a, r: combine(a, (r,)), lambda a: a[0], combine)


def fold(
    create: Callable[[], A], add: Callable[[A, T], A], combine: Callable[[A, A], A] | None = None
) -> Aggregate[T, A, A]:
    """An aggregate of one's own. Without `combine` every record crosses the network.

    `add` and `combine` may change the accumulator: a result is a copy of it as it was.

    >>> fold(str, lambda text, letter: letter + text).over("abc")
    'cba'
    """
    return Aggregate("fold", create, add, own_copy, combine)


def of(**parts: Aggregate[T, Any, Any]) -> Aggregate[T, tuple[Any, ...], dict[str, Any]]:
    """Several aggregates of the same records, as a dict.

    >>> of(words=count(), letters=sum(len)).over(["to", "be"])
    {'words': 2, 'letters': 4}
    """
    if not parts:
        msg = "agg.of() has no aggregate"
        raise UserError(msg, hint="agg.of(n=agg.count())")
    all_of = tuple(parts.values())
    combines = [part.combine for part in all_of]
    deducts = [part.deduct for part in all_of]

    def each(functions: list[Any]) -> Callable[[Any, Any], tuple[Any, ...]] | None:
        if any(function is None for function in functions):
            return None
        return lambda a, b: tuple(f(x, y) for f, x, y in zip(functions, a, b, strict=True))

    return Aggregate(
        f"of({', '.join(f'{name}={part.name}' for name, part in parts.items())})",
        lambda: tuple(part.create() for part in all_of),
        lambda a, r: tuple(part.add(x, r) for part, x in zip(all_of, a, strict=True)),
        lambda a: {name: part.finish(x) for (name, part), x in zip(parts.items(), a, strict=True)},
        each(combines),
        each(deducts),
        additive=all(part.additive for part in all_of),
    )
