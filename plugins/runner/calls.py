"""Calls of `map_async`: awaited in a loop of their own while the pipeline waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.pipeline.graph import MapAsyncOp, Step


class Calls:
    """The event loop of a run, made at the first call."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __enter__(self) -> Calls:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    def step(self, step: Step, out: Out, failing: Failing) -> Out:
        """A step that calls for a list of records, at most `at_once` at a time, and waits for all of them."""
        op = step.op
        assert isinstance(op, MapAsyncOp)

        async def all_of(records: Sequence[Any]) -> list[Any]:
            places = asyncio.Semaphore(op.at_once)
            made: dict[int, Any] = {}

            async def one(number: int, record: Any) -> None:
                async with places:
                    try:
                        made[number] = await op.fn(record)
                    except Exception as error:
                        if not failing.tolerant:
                            raise failing.on(error, record) from error
                        failing.leave(error, record)

            async with _FirstError() as group:
                for number, record in enumerate(records):
                    group.create_task(one(number, record))
            return [made[number] for number in sorted(made)] if op.ordered else list(made.values())

        def run(records: Sequence[Any]) -> None:
            out(self._runner.run(all_of(records)))

        return run


class _FirstError(asyncio.TaskGroup):
    """A group whose first error is the error, not one of a group."""

    async def __aexit__(self, *error: Any) -> None:
        try:
            await super().__aexit__(*error)
        except* Exception as found:
            raise found.exceptions[0] from None
