"""Objects that are made of equal parts, wherever they come from."""

from __future__ import annotations

import functools
import operator
import pickle
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import pytest

from heronpy.operators.alike import alike


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any

    def sum(self) -> Any:
        return self.left + self.right


class Ring:
    """Knows itself."""

    def __init__(self, value: Any) -> None:
        self.value, self.itself = value, self

    @classmethod
    def of(cls, value: Any) -> Self:
        return cls(value)


MAKERS: list[Callable[[Any], Any]] = [
    Plain,
    Slotted,
    Ring,
    Ring.of,
    lambda value: Pair(Plain(value), 2),
    lambda value: Pair(value, 2).sum,
    lambda value: [1, (value, {"a": Plain(value)})],
    lambda value: deque([value], maxlen=3),
    lambda value: Counter({value: 2}),
    lambda value: functools.partial(operator.add, value),
    lambda value: Plain({str(number) for number in range(value * 10)}),
    lambda value: datetime(2026, 1, value, tzinfo=UTC) + timedelta(seconds=value),
    lambda value: operator.add if value == 1 else operator.sub,
    lambda value: Plain if value == 1 else Slotted,
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_was_made_alike_is_alike_also_after_a_journey_and_what_was_not_is_not(
    make: Callable[[int], Any],
) -> None:
    assert alike(make(1), make(1))
    assert alike(make(1), pickle.loads(pickle.dumps(make(1))))
    assert not alike(make(1), make(2))


def test_another_class_with_the_same_in_it_is_another() -> None:
    assert not alike(Plain(1), Slotted(1))
    assert not alike([1], (1,))
    assert not alike({"a": 1}, {"b": 1})
