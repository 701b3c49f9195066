"""Sources of one's own."""

from __future__ import annotations

from typing import Any

from heronpy.streamlet.context import Context


class Generator:
    """Makes the elements of a streamlet. Each partition has a copy, on which `setup` is called first."""

    def setup(self, context: Context) -> None:
        """Called in the task, before the first `get`, and again on a new copy when a task starts anew."""
        msg = f"{type(self).__name__} must define setup(context)"
        raise NotImplementedError(msg)

    def get(self) -> Any:
        """The next element; None if there is none now. StopIteration ends the partition."""
        msg = f"{type(self).__name__} must define get()"
        raise NotImplementedError(msg)
