"""What steps keep, in words that a checkpoint can carry; and old states with the fields that are new."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, ForwardRef

import msgspec

from heronpy.kernel.plans import StateShape
from heronpy.operators.timed_processing import KeyCell, keeps_cells
from heronpy.pipeline.graph import AggregateOp, FinalOp, ProcessOp, RollingOp, Step, WindowOp
from heronpy.planner.planning import PlannedStage
from heronpy.stages.window_shapes import window_shape


def shapes_of(stage: PlannedStage) -> dict[str, StateShape]:
    """Step → what it keeps for each key."""
    return {step.name: _shape(step) for step in stage.stateful}


def _shape(step: Step) -> StateShape:
    timers = " with timers" if keeps_cells(step) else ""
    match step.op:
        case ProcessOp(state=type() as cls):
            fields = _fields(cls)
            return StateShape(
                f"class {cls.__qualname__}{timers}",
                {field.name: field.kind for field in fields},
                tuple(field.name for field in fields if field.default),
                ordered=_is_ordered(cls),
            )
        case ProcessOp():
            return StateShape(f"a function's result{timers}")
        case AggregateOp(aggregate=aggregate) | FinalOp(aggregate=aggregate) | RollingOp(aggregate=aggregate):
            return StateShape(f"aggregate {aggregate.name}")
        case WindowOp() as op:
            return StateShape(window_shape(op, retractions=bool(step.retracted)))
    return StateShape(step.op.word)


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    default: bool


def _fields(cls: type[Any]) -> list[_Field]:
    """The fields that a class declares; none for a class that declares none."""
    if dataclasses.is_dataclass(cls):
        missing = dataclasses.MISSING
        return [
            _Field(f.name, _shown(f.type), not (f.default is missing and f.default_factory is missing))
            for f in dataclasses.fields(cls)
        ]
    if issubclass(cls, msgspec.Struct):
        return [_Field(f.name, _shown(f.type), not f.required) for f in msgspec.structs.fields(cls)]
    if _is_named_tuple(cls):
        kinds = inspect.get_annotations(cls)
        return [_Field(n, _shown(kinds.get(n, "")), n in cls._field_defaults) for n in cls._fields]
    return []


def _is_ordered(cls: type[Any]) -> bool:
    """Whether pickle writes the fields of its objects in their order."""
    if dataclasses.is_dataclass(cls):
        return "__slots__" in vars(cls) and "__setstate__" in vars(cls)  # as those do that are frozen
    return issubclass(cls, msgspec.Struct) or _is_named_tuple(cls)


def _is_named_tuple(cls: type[Any]) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_field_defaults")


def _shown(kind: Any) -> str:
    kind = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def brought_up_to_date(states: Mapping[Any, Any], stage: PlannedStage) -> None:
    """Give states of dataclasses that were saved by older code the fields that are new since then."""
    if not any(isinstance(step.op, ProcessOp) for step in stage.stateful):
        return
    shared = len(stage.stateful) > 1
    for value in states.values():
        for state in value.values() if shared else (value,):
            if isinstance(state, KeyCell):
                state = state.state
            if dataclasses.is_dataclass(state) and not isinstance(state, type):
                _add_missing(state)


def _add_missing(state: Any) -> None:
    for field in dataclasses.fields(state):
        if hasattr(state, field.name):
            continue
        make = field.default_factory
        value = field.default if make is dataclasses.MISSING else make()
        object.__setattr__(state, field.name, value)  # the class may be frozen
