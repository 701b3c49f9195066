"""Stand-ins around the components under test: a spout that emits given tuples, and a record of tuples."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from heronpy.bolt import Bolt
from heronpy.kernel.flow.column_split import rows_of
from heronpy.spout import Spout


class FedRow(NamedTuple):
    """One tuple that a test wants emitted."""

    values: list[Any]
    stream: str
    #: index of the task that is to do it
    speaker: int


class FedSpout(Spout):
    """Takes the place of a spout that a test feeds."""

    index: int
    #: shared by all tasks of the spout, so that they keep the order of the list
    rows: deque[FedRow]

    def next_tuple(self) -> None:
        if self.rows and self.rows[0].speaker == self.index:
            row = self.rows.popleft()
            self.emit(row.values, stream=row.stream)


class Recorder:
    """The delegate of a component whose emits are written down on their way to the engine."""

    def __init__(self, component: Spout | Bolt, numbering: Iterator[int]) -> None:
        self._engine = component.delegate
        self._numbering = numbering
        #: where emit() has the stream, behind the values
        self._position = 1 if isinstance(component, Spout) else 0
        #: stream → (number in the whole run, values)
        self.emitted: dict[str, list[tuple[int, list[Any]]]] = {}

    def emit(self, tup: Any, *rest: Any) -> list[int] | None:
        values = list(tup)
        number = next(self._numbering)
        tasks: list[int] | None = self._engine.emit(values, *rest)
        # Afterwards, so that what the engine refuses was never emitted.
        self.emitted.setdefault(rest[self._position], []).append((number, values))
        return tasks

    def emit_many(self, rows: Any, *rest: Any) -> None:
        batch: list[list[Any]] = list(map(list, rows))
        numbers = list(itertools.islice(self._numbering, len(batch)))
        self._engine.emit_many(batch, *rest)
        self.emitted.setdefault(rest[self._position], []).extend(zip(numbers, batch, strict=True))

    def emit_batch(self, batch: Any, *rest: Any) -> None:
        self._engine.emit_batch(batch, *rest)
        rows = rows_of(batch)
        numbers = list(itertools.islice(self._numbering, len(rows)))
        self.emitted.setdefault(rest[self._position], []).extend(zip(numbers, rows, strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)
