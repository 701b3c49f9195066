"""Tells at submit what a component keeps, so that `update` knows what will move with its keys."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from heronpy.kernel.plans import Component
from heronpy.kernel.plans.logical import StateKind
from heronpy.state import StatefulComponent

_READ, _WRITTEN = "LOAD_ATTR", "STORE_ATTR"


def state_kind(component: Component, cls: type[Any]) -> StateKind:
    """What the engine keeps for the class; none also for one that sets `self.state` itself."""
    movable = component.by_fields or bool(component.splits)
    if issubclass(cls, StatefulComponent):
        return "keyed" if movable and (cls.keyed or component.kind == "spout") else "opaque"
    touched = {
        instruction.opname
        for code in _written_by_the_user(cls)
        for instruction in dis.get_instructions(code)
        if instruction.argval == "state" and instruction.opname in (_READ, _WRITTEN)
    }
    if _READ not in touched or _WRITTEN in touched:
        return "none"
    return "keyed" if movable else "opaque"


def _written_by_the_user(cls: type[Any]) -> Iterator[CodeType]:
    for base in cls.__mro__:
        if base is object or base.__module__.split(".")[0] == "heronpy":
            continue
        for value in vars(base).values():
            function = getattr(value, "__wrapped__", getattr(value, "__func__", value))
            if isinstance(function, FunctionType):
                yield from _nested(function.__code__)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
