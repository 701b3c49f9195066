"""Operators of one's own."""

from __future__ import annotations

from typing import Any

from heronpy.streamlet.context import Context


class TransformOperator:
    """Makes any number of elements of each. Each partition has a copy, on which `setup` is called first."""

    def setup(self, context: Context) -> None:
        """Called in the task, before the first `transform`; `context.emit` is for later."""
        msg = f"{type(self).__name__} must define setup(context)"
        raise NotImplementedError(msg)

    def transform(self, tup: Any) -> None:
        """Takes a tuple, whose `values[0]` is the element; `context.emit(element)` as often as wanted."""
        msg = f"{type(self).__name__} must define transform(tup)"
        raise NotImplementedError(msg)
