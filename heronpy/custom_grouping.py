"""The interface of a grouping that users write themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class ICustomGrouping:
    """Chooses the tasks that get a tuple. Made and called in the emitting instance."""

    def prepare(self, context: TopologyContext, component: str, stream: str, target_tasks: list[int]) -> None:
        """Called once, and again when the target tasks change: emitting component, stream, target tasks."""

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        """The task ids, out of `target_tasks`, that get a tuple with these values."""
        msg = f"{type(self).__name__} must define choose_tasks(values)"
        raise NotImplementedError(msg)
