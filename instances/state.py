"""The state of one task: which mapping it gets, and which keys that takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import KeyNotOwned
from heronpy.kernel.keys import key_group
from heronpy.kernel.plans import Input, PhysicalPlan
from heronpy.state import HashMapState, StatefulComponent


class Ownership:
    """Says whether a key is this task's, by the table that tuples are routed with."""

    def __init__(self, plan: PhysicalPlan, task_id: int, fields: tuple[str, ...]) -> None:
        self._plan = plan
        self._task = plan.task(task_id)
        self._owners = plan.key_groups[self._task.component]
        self._fields = fields
        #: the last key that was found to be ours: what get() did not find is set next, more often than not
        self._ours: object = self

    def check(self, key: object) -> None:
        """KeyNotOwned for a key that no fields grouping would bring here; TypeError for what is none."""
        if key is self._ours:
            return
        fields = self._fields
        if len(fields) > 1 and not (isinstance(key, tuple) and len(key) == len(fields)):
            msg = (
                f"{key!r} is no key of {self._task.label}: its input is grouped by {', '.join(fields)},"
                f" so its keys are tuples of {len(fields)}"
            )
            raise KeyNotOwned(msg, hint=_example(fields))
        group = key_group(key, len(self._owners))
        owner = self._owners[group]
        if owner != self._task.id:
            msg = (
                f"key {key!r} is in key group {group}, which belongs to {self._plan.task(owner).label}"
                f" and not to {self._task.label}"
            )
            raise KeyNotOwned(msg, hint=f"{_example(fields)}, for tuples that come by fields grouping")
        self._ours = key


class KeyedState(HashMapState):
    """State in memory whose keys are those of the fields grouping.

    A key that is in it is owned, and equal keys are in one group. So only a key that is not in it is checked,
    and most tuples pay nothing for that.
    """

    def __init__(self, check: Callable[[object], None]) -> None:
        super().__init__()
        self._check = check

    def get(self, key: Any, default: Any = None) -> Any:
        values = self._dict
        if key in values:
            return values[key]
        self._check(key)
        return default

    def put(self, key: Any, value: Any) -> None:
        self[key] = value

    def __getitem__(self, key: Any) -> Any:
        values = self._dict
        if key in values:
            return values[key]
        self._check(key)
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        values = self._dict
        if key not in values:
            self._check(key)
        values[key] = value

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        del self._dict[key]

    def __contains__(self, key: object) -> bool:
        if key in self._dict:
            return True
        self._check(key)
        return False


def state_of(plan: PhysicalPlan, task_id: int, cls: type) -> HashMapState:
    """A new state: keyed if the task reads by fields, unless its class wants Apache's, which is opaque."""
    name = plan.task(task_id).component
    if issubclass(cls, StatefulComponent) and cls.keyed is not True:
        return HashMapState()
    edges = [edge for edge in plan.logical.component(name).inputs if edge.grouping.kind == "fields"]
    if edges:
        return KeyedState(Ownership(plan, task_id, _key_fields(name, edges)).check)
    if issubclass(cls, StatefulComponent):
        msg = f"{cls.__qualname__} has keyed = True, but {name!r} reads nothing by fields grouping"
        raise DefinitionError(msg, hint="inputs={spec: Grouping.fields('name')}")
    return HashMapState()


def _key_fields(name: str, edges: list[Input]) -> tuple[str, ...]:
    if len({len(edge.grouping.fields) for edge in edges}) > 1:
        groupings = " and ".join(f"{edge.component!r} by {', '.join(edge.grouping.fields)}" for edge in edges)
        msg = f"{name!r} cannot use self.state: it groups {groupings}, which are keys of different lengths"
        raise DefinitionError(msg, hint="as many fields for each input, or two bolts")
    return edges[0].grouping.fields


def _example(fields: tuple[str, ...]) -> str:
    return f"self.state[{', '.join(f'tup[{field!r}]' for field in fields)}]"
