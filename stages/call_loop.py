"""The event loop that awaits calls: so many at once, each with a time limit and further tries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

from heronpy.kernel.config.units import format_duration
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out
from heronpy.pipeline.graph import MapAsyncOp, Step

#: seconds before the second try of a call; each further one waits twice as long
FIRST_PAUSE = 0.1
#: … and never longer than this
LONGEST_PAUSE = 10.0


class CallLoop:
    """Made at the first call. `chance` gives numbers from 0 to 1."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._runner = asyncio.Runner()
        self._chance = chance

    def close(self) -> None:
        """Calls that are under way, because the run was interrupted, are cancelled."""
        self._runner.close()

    def step(self, step: Step, out: Out, failing: Failing) -> Out:
        """Calls for a list of records, at most `at_once` at a time; returns when the last has its result."""
        op = step.op
        assert isinstance(op, MapAsyncOp)

        def run(records: Sequence[Any]) -> None:
            out(self._runner.run(self._all(op, records, failing)))

        return run

    async def _all(self, op: MapAsyncOp, records: Sequence[Any], failing: Failing) -> list[Any]:
        places = asyncio.Semaphore(op.at_once)
        made: dict[int, Any] = {}

        async def one(number: int, record: Any) -> None:
            async with places:
                try:
                    made[number] = await self._tried(op, record)
                except Exception as error:
                    if not failing.tolerant:
                        raise failing.on(error, record) from error
                    failing.leave(error, record)

        async with _FirstError() as group:
            for number, record in enumerate(records):
                group.create_task(one(number, record))
        return [made[number] for number in sorted(made)] if op.ordered else list(made.values())

    async def _tried(self, op: MapAsyncOp, record: Any) -> Any:
        """The result of the first call that has one, else the error of the last."""
        for number in range(op.retries):
            try:
                return await _in_time(op, record)
            except Exception:
                await asyncio.sleep(pause_after(number, self._chance()))
        return await _in_time(op, record)


def pause_after(tries: int, chance: float) -> float:
    """How long to wait for the next try: between half of a time that doubles and all of it.

    Calls that failed together, because what they call was down, do not come back together.
    """
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**tries) * (1 + chance) / 2


async def _in_time(op: MapAsyncOp, record: Any) -> Any:
    if op.timeout is None:
        return await op.fn(record)
    try:
        async with asyncio.timeout(op.timeout) as limit:
            return await op.fn(record)
    except TimeoutError:
        if not limit.expired():
            raise
    msg = f"no answer within {format_duration(op.timeout)}"
    raise TimeoutError(msg)


class _FirstError(asyncio.TaskGroup):
    """A group whose first error is the error, not one of a group."""

    async def __aexit__(self, *error: Any) -> None:
        try:
            await super().__aexit__(*error)
        except ExceptionGroup as found:  # early versions of Python 3.11 put what except* raises into a group
            raise found.exceptions[0] from None
