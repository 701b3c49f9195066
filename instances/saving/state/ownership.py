"""Which keys a task's state takes, and which group each is in."""

from __future__ import annotations

from typing import Protocol

from heronpy.errors import DefinitionError
from heronpy.instances.excerpts import shown
from heronpy.kernel.errors import KeyNotOwned
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.plans import Input, PhysicalPlan


class Owning(Protocol):
    """One routing table, from the view of one task. A change of plan replaces it."""

    @property
    def groups(self) -> int:
        """Number of groups of all owners."""

    def admit(self, key: object) -> int:
        """The group of a key owned by this task; KeyNotOwned for others, TypeError for an invalid key."""

    def group_of(self, key: object) -> int:
        """The group of a key of any owner."""

    def owned_groups(self) -> list[bool]:
        """By group, whether it belongs to this task."""


class Ownership:
    """Ownership of grouping keys, by the table that tuples are routed with."""

    def __init__(self, plan: PhysicalPlan, task_id: int, fields: tuple[str, ...]) -> None:
        self._plan = plan
        self._task = plan.task(task_id)
        self._owners = plan.key_groups[self._task.component]
        self._fields = fields
        self.groups = len(self._owners)
        #: the last key that was found to be ours: what get() did not find is set next, more often than not
        self._ours: object = self
        self._group = 0

    def admit(self, key: object) -> int:
        if key is self._ours:
            return self._group
        fields = self._fields
        if len(fields) > 1 and not (isinstance(key, tuple) and len(key) == len(fields)):
            msg = (
                f"{shown(key)} is no key of {self._task.label}: its input is grouped by {', '.join(fields)},"
                f" so its keys are tuples of {len(fields)}"
            )
            raise KeyNotOwned(msg, hint=_example(fields))
        group = key_group(key, self.groups)
        owner = self._owners[group]
        if owner != self._task.id:
            msg = (
                f"key {shown(key)} is in key group {group}, which belongs to {self._plan.task(owner).label}"
                f" and not to {self._task.label}"
            )
            raise KeyNotOwned(msg, hint=f"use {_example(fields)}, for tuples that come by fields grouping")
        self._ours, self._group = key, group
        return group

    def group_of(self, key: object) -> int:
        return key_group(key, self.groups)

    def owned_groups(self) -> list[bool]:
        return [owner == self._task.id for owner in self._owners]


class SplitOwnership:
    """Ownership of a spout's splits: the state has the position in each split of the task."""

    def __init__(self, plan: PhysicalPlan, task_id: int) -> None:
        self._plan = plan
        self._task = plan.task(task_id)
        self._owners = plan.key_groups[self._task.component]
        names = plan.logical.component(self._task.component).splits
        self._numbers: dict[object, int] = {name: number for number, name in enumerate(names)}
        self.groups = len(names)
        self.owned = tuple(
            name for name, owner in zip(names, self._owners, strict=True) if owner == self._task.id
        )

    def admit(self, key: object) -> int:
        number = self._numbers.get(key)
        if number is None:
            msg = (
                f"{shown(key)} is no split of {self._task.component!r},"
                f" so {self._task.label} has no state for it"
            )
            raise KeyNotOwned(msg, hint="for split in self.splits: self.state.get(split)")
        owner = self._owners[number]
        if owner != self._task.id:
            msg = f"split {key!r} belongs to {self._plan.task(owner).label} and not to {self._task.label}"
            raise KeyNotOwned(msg, hint="for split in self.splits: self.state.get(split)")
        return number

    def group_of(self, key: object) -> int:
        return self._numbers[key]

    def owned_groups(self) -> list[bool]:
        return [owner == self._task.id for owner in self._owners]


def key_fields(name: str, edges: list[Input]) -> tuple[str, ...]:
    """The fields that a component's keys are made of; DefinitionError if its inputs do not agree."""
    if len({len(edge.grouping.fields) for edge in edges}) > 1:
        groupings = " and ".join(f"{edge.component!r} by {', '.join(edge.grouping.fields)}" for edge in edges)
        msg = f"{name!r} cannot use self.state: it groups {groupings}, and these keys differ in length"
        raise DefinitionError(msg, hint="group every input by the same number of fields, or use two bolts")
    return edges[0].grouping.fields


def _example(fields: tuple[str, ...]) -> str:
    return f"self.state[{', '.join(f'tup[{field!r}]' for field in fields)}]"
