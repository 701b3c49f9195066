"""Whether two objects are made of the same, also where their classes do not say when they are equal."""

from __future__ import annotations

from types import MethodType
from typing import Any


def alike(one: Any, other: Any) -> bool:
    """Whether two objects that can be pickled have the same class and are made of equal values.

    That holds across processes, unlike `repr`, which has addresses, and pickles, in which a set of strings
    has another order each time.
    """
    return _alike(one, other, {})


def _alike(one: Any, other: Any, met: dict[tuple[int, int], tuple[Any, Any]]) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(
            _alike(mine, yours, met) for mine, yours in zip(one, other, strict=True)
        )
    if type(one) is dict:
        return one.keys() == other.keys() and all(_alike(one[key], other[key], met) for key in one)
    if type(one).__module__ == "builtins" and not isinstance(one, MethodType):
        return bool(one == other)  # of functions and classes there is one in a process
    if (id(one), id(other)) in met:
        return True  # they are being compared, further out
    met[id(one), id(other)] = one, other
    return _alike(_parts(one), _parts(other), met)


def _parts(one: Any) -> list[Any]:
    """What pickle would save of it."""
    made = one.__reduce_ex__(4)
    if isinstance(made, str):
        return [made]
    return [*made[:3], *(None if items is None else list(items) for items in made[3:5])]
