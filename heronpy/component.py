"""What spouts and bolts have in common, and how an instance makes one."""

from __future__ import annotations

import functools
import inspect
import logging
from typing import Any, cast

from heronpy.errors import DefinitionError
from heronpy.state import HashMapState

#: what the engine and the base classes set in a component; everything else is the user's
ENGINE_ATTRIBUTES = frozenset({"delegate", "logger", "splits", "emit", "ack", "_open", "_anchors"})


class BaseComponent:
    """A spout or a bolt. Its emits, acks and log lines go to a delegate: the engine or another component."""

    delegate: Any
    logger: logging.Logger

    def __init__(self, delegate: Any = None) -> None:
        if delegate is None and not hasattr(self, "delegate"):
            name = type(self).__name__
            msg = f"{name}() makes no component of a topology: the engine constructs it in each task"
            raise DefinitionError(msg, hint=f"{name}.spec()")
        if delegate is not None:
            self.delegate = delegate
            self.logger = delegate.logger

    def log(self, message: object, level: str | None = None) -> None:
        """Write to the instance's log; level is trace, debug, info (as is None), warn or error."""
        self.delegate.log(message, level)

    def emit_watermark(self, at: int, idle: bool = False) -> None:
        """No tuple with an event time before `at` will be emitted: microseconds since 1970.

        The watermark leaves behind all tuples emitted so far. `idle`: there is no input at present, and
        receivers are not to wait for this task.
        """
        self.delegate.emit_watermark(at, idle)

    # A cached property gives way to assignment: older topologies keep a `self.state` of their own.
    @functools.cached_property
    def state(self) -> Any:
        """The state of this task: a mapping that no other task shares.

        In a bolt that reads by fields grouping its keys are the grouping keys: the value of one field, or a
        tuple of several. A key that belongs to another task raises KeyNotOwned.
        """
        return getattr(self.delegate, "open_state", HashMapState)()

    def open_state(self) -> Any:
        """The state of the task, for a component that has this one as its delegate."""
        return self.state


def make_component(cls: type[Any], delegate: Any) -> Any:
    """Construct a user's class. Its `__init__` may take the delegate or nothing, and need not call ours."""
    component = cast("Any", cls).__new__(cls)
    component.delegate = delegate
    component.logger = delegate.logger
    if _takes_delegate(cls):
        component.__init__(delegate)
    else:
        component.__init__()
    return component


def _takes_delegate(cls: type[Any]) -> bool:
    constructor = cast("Any", cls).__init__
    if constructor is BaseComponent.__init__:  # as of most; a look at a signature costs each instance memory
        return True
    parameters = list(inspect.signature(constructor).parameters.values())[1:]
    if any(parameter.name == "delegate" for parameter in parameters):
        return True
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return True
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    if len(needed) > 1:
        msg = f"{cls.__qualname__}.__init__ needs {', '.join(needed)}, which no instance can give"
        raise DefinitionError(msg, hint="read such values from config in initialize(config, context)")
    return bool(needed)
