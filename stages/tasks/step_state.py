"""The state of one step, where several steps of a stage share the keys of its tasks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, MutableMapping
from typing import Any, TypeAlias

from heronpy.pipeline.graph import WindowOp
from heronpy.planner.planning import PlannedStage

#: key → step → state
Cells: TypeAlias = MutableMapping[Hashable, dict[str, Any]]


def shares_cells(stage: PlannedStage) -> bool:
    """Whether the state of a stage is cells with a place for each step; else it is that of its one step.

    Windows over all records have no key to find them by, and share the state with the task's own watermark.
    """
    windows = any(isinstance(step.op, WindowOp) and not step.op.keyed for step in stage.stateful)
    return windows or len(stage.stateful) > 1


class StepState(MutableMapping[Hashable, Any]):
    """A view of cells: what one step keeps of each key."""

    def __init__(self, cells: Cells, step: str) -> None:
        self._cells, self._step = cells, step

    def __getitem__(self, key: Hashable) -> Any:
        return self._cells[key][self._step]

    def __setitem__(self, key: Hashable, value: Any) -> None:
        cell = self._cells.get(key)
        if cell is None:
            self._cells[key] = {self._step: value}
        else:
            cell[self._step] = value

    def __delitem__(self, key: Hashable) -> None:
        cell = self._cells[key]
        del cell[self._step]
        if not cell:
            del self._cells[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter([key for key, cell in self._cells.items() if self._step in cell])

    def __len__(self) -> int:
        return sum(self._step in cell for cell in self._cells.values())
