"""A task's state with a store in memory, and the checkpoints that a master would make of what it reports."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from typing import Any

import msgspec
from support.tasks.plans import edge, plan_of
from support.tasks.shelf import Shelf

from heronpy import Bolt
from heronpy.instances.saving.state import Saved, Saver, TaskState, load_checkpoint
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, write_manifest
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import Stored

PREFIX = "wordcount/x1"


def plan_with(groups: int, par: int = 1) -> PhysicalPlan:
    """words (task 1) feeds count (tasks 2, 3, …) by word, in so many key groups."""
    plan = plan_of(edge("fields", "word"), par=par)
    return msgspec.structs.replace(
        plan,
        logical=msgspec.structs.replace(plan.logical, key_groups=groups),
        key_groups={"count": tuple(2 + group * par // groups for group in range(groups))},
    )


class Keeper:
    """One task, its saver and its shelf. Each look at its clock takes a second: a call encodes one chunk."""

    def __init__(
        self,
        plan: PhysicalPlan,
        task: int = 2,
        cls: type = Bolt,
        shelf: Shelf | None = None,
        incarnation: int = 1,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.plan = plan
        self.shelf = shelf or Shelf()
        self.task_state = TaskState(plan, task, cls)
        self.reports: queue.SimpleQueue[tuple[Stored, str]] = queue.SimpleQueue()
        self.saver = Saver(
            self.task_state,
            lambda: self.shelf,
            PREFIX,
            lambda stored, kind: self.reports.put((stored, kind)),
            incarnation,
            clock or itertools.count().__next__,
        )

    @property
    def state(self) -> Any:
        return self.task_state.open()

    def finish(self) -> Stored:
        """Encode the rest and wait for the report."""
        while self.saver.work():
            pass
        return self.reports.get(timeout=30)[0]

    def save(self, checkpoint: int, extras: dict[str, bytes] | None = None) -> Stored:
        self.saver.snapshot(checkpoint, 0, extras or {})
        return self.finish()


def parts(stored: Stored) -> tuple[StoredPart, ...]:
    return tuple(
        StoredPart(part.object, part.checksum, part.bytes, tuple(part.groups), part.whole)
        for part in stored.parts
    )


def complete(shelf: Shelf, plan: PhysicalPlan, reports: dict[int, Stored]) -> CheckpointRef:
    """The checkpoint of what each task has stored."""
    (number,) = {stored.id for stored in reports.values()}
    tasks = [
        SavedTask(task, plan.task(task).component, plan.task(task).index, parts(stored))
        for task, stored in reports.items()
    ]
    splits = {component.name: component.splits for component in plan.logical.components if component.splits}
    return write_manifest(
        shelf,
        Manifest(
            topology="wordcount",
            execution="x1",
            id=number,
            key_groups=plan.logical.key_groups,
            splits=splits,
            tasks=tuple(tasks),
        ),
    )


def saved_in(keeper: Keeper, stored: Stored) -> Saved:
    """What the keeper's task would be restored from."""
    task = keeper.task_state.task_id
    return load_checkpoint(
        keeper.shelf, complete(keeper.shelf, keeper.plan, {task: stored}), keeper.plan, task
    )


def restored(keeper: Keeper, stored: Stored, cls: type = Bolt) -> dict[Any, Any]:
    """The state as a fresh process has it."""
    fresh = TaskState(keeper.plan, keeper.task_state.task_id, cls)
    fresh.restore(saved_in(keeper, stored))
    return dict(fresh.open())
