"""Copies of what the user's functions go on to change, for results that shall stay what they were."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec

A = TypeVar("A")

#: no value of these types can change
_PLAIN: Final[frozenset[type]] = frozenset(
    {
        *(int, float, complex, bool, str, bytes, type(None), Decimal, Fraction, UUID),
        *(date, datetime, time, timedelta),
    }
)
_TUPLES: Final[frozenset[type]] = frozenset({tuple, frozenset})
#: if nothing that is in them can change, a new one with the same in it will do
_FLAT: Final[frozenset[type]] = frozenset({list, set, dict, deque, Counter, defaultdict, OrderedDict})


def own_copy(value: A) -> A:
    """The value itself if it cannot change, else a copy that has no part in common with it that can."""
    if _is_fixed(value):
        return value
    if type(value) in _FLAT and _all_fixed(value):
        return copy.copy(value)
    try:
        return copy.deepcopy(value)
    except Exception as error:
        msg = f"a result is a copy of its accumulator, and this {type(value).__name__} has none: {error}"
        raise TypeError(msg) from error


def _is_fixed(value: Any) -> bool:
    kind: Any = type(value)
    if kind in _PLAIN or isinstance(value, Enum):
        return True
    if kind in _TUPLES:
        return _each_fixed(value)
    fields = _fields_of(kind)
    return fields is not None and all(_is_fixed(getattr(value, field)) for field in fields)


def _all_fixed(container: Any) -> bool:
    if isinstance(container, dict):
        return _each_fixed(container.keys()) and _each_fixed(container.values())
    return _each_fixed(container)


def _each_fixed(values: Iterable[Any]) -> bool:
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        return True
    if kinds <= _TUPLES:  # as records often are: without a call for each
        return _each_fixed(list(itertools.chain.from_iterable(values)))
    return all(map(_is_fixed, values))


@functools.lru_cache(maxsize=1024)
def _fields_of(kind: Any) -> tuple[str, ...] | None:
    """The names of what a value of the type has, if it always has the same in it; None: that may change."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__ if kind.__struct_config__.frozen else None
    if issubclass(kind, tuple):
        # a subclass with a dict of its own may have more in it than its fields
        return getattr(kind, "_fields", None) if not kind.__dictoffset__ else None
    params = kind.__dict__.get("__dataclass_params__")
    if params is None or not params.frozen:
        return None
    return tuple(field.name for field in dataclasses.fields(kind))
