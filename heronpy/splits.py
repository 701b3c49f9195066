"""The splits of a spout: the parts of its source, each read by one task."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

from heronpy.errors import DefinitionError
from heronpy.spec import HeronComponentSpec

_HINT = "declare splits = ['a', 'b'], a number, or a classmethod splits(cls, config) that returns either"


def declared_splits(spec: HeronComponentSpec, config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a spout's splits, with the config that its tasks get; empty if it declares none."""
    cls = spec.component_class
    if not spec.is_spout or cls is None:
        return ()
    declared = inspect.getattr_static(cls, "splits", None)
    if isinstance(declared, classmethod):
        declared = cls.splits(dict(config))
    elif declared is None or callable(declared) or isinstance(declared, property):
        return ()  # an attribute of the user's own, which happens to be called so
    if type(declared) is int:
        declared = [str(number) for number in range(declared)]
    if not isinstance(declared, list | tuple):
        _refuse(spec, f"splits must be a list of names or a number, got {declared!r}")
    _check(spec, declared)
    return tuple(declared)


def _check(spec: HeronComponentSpec, names: list[Any] | tuple[Any, ...]) -> None:
    if not names:
        _refuse(spec, "has no splits, so it would read nothing")
    for name in names:
        if type(name) is not str or not name:
            _refuse(spec, f"the name of a split must be a string that is not empty, got {name!r}")
    twin = next((name for name, count in Counter(names).items() if count > 1), None)
    if twin is not None:
        _refuse(spec, f"has two splits called {twin!r}")


def _refuse(spec: HeronComponentSpec, what: str) -> NoReturn:
    msg = f"{spec.label}: {what}"
    raise DefinitionError(msg, hint=_HINT)
