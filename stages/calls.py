"""Calls of `map_async`: awaited in a loop of their own while the pipeline waits."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.pipeline.graph import Step

if TYPE_CHECKING:
    from heronpy.stages.call_loop import CallLoop


class Calls:
    """The calls of one task, none of which is under way when a step has returned."""

    def __init__(self) -> None:
        self._loop: CallLoop | None = None

    def __enter__(self) -> Calls:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.close()

    def step(self, step: Step, out: Out, failing: Failing) -> Out:
        """A step that calls for a list of records, and waits for all of them."""
        if self._loop is None:
            from heronpy.stages.call_loop import CallLoop  # asyncio is dear, and few pipelines call

            self._loop = CallLoop()
        return self._loop.step(step, out, failing)
