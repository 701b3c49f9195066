"""The state of one task: which mapping it gets, what is restored into it, and what is handed over."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from heronpy.component import ENGINE_ATTRIBUTES
from heronpy.errors import DefinitionError
from heronpy.instances.saving.run_membership import has_runs
from heronpy.instances.saving.state.encoding import decode_whole, encode_whole
from heronpy.instances.saving.state.key_roster import KeyRoster
from heronpy.instances.saving.state.keyed import (
    Image,
    KeyedState,
    changed_groups,
    count_changes,
    entries,
    is_unchanged,
    put_group,
    put_tables,
    take_image,
    use_ownership,
)
from heronpy.instances.saving.state.ownership import Ownership, Owning, SplitOwnership, key_fields
from heronpy.instances.saving.state.state_tables import Tables
from heronpy.instances.saving.state.table_keys import key_types
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import Held
from heronpy.state import HashMapState, StatefulComponent, state_is_by_task
from heronpy.transactions import TransactionalSink

if TYPE_CHECKING:
    from heronpy.instances.saving.state.state_loader import Saved

#: largest number of attributes that are reported by name
_NAMED: Final = 8


class TaskState:
    """Keyed if the task reads by fields or has splits, unless its class wants Apache's, which is opaque."""

    def __init__(self, plan: PhysicalPlan, task_id: int, cls: type) -> None:
        self._plan = plan
        self._cls = cls
        self.task_id = task_id
        self._state: HashMapState | None = None
        self._component: Any = None
        #: group → where its newest state is stored: a part, or what is on its way to become one
        self.ledger: dict[int, object] = {}
        #: checkpoint that the task may go back to → entries of its own in it; 0 is the one that it began with
        self._own_saved: dict[int, int] = {}

    @property
    def opened(self) -> bool:
        """Whether the state has been used, or something was restored."""
        return self._state is not None

    @property
    def keyed(self) -> bool:
        """Whether it lies in groups."""
        return isinstance(self._state, KeyedState)

    def open(self) -> HashMapState:
        """The mapping itself, always the same."""
        if self._state is None:
            owning = _owning(self._plan, self.task_id, self._cls)
            self._state = HashMapState() if owning is None else self._keyed_by(owning)
        return self._state

    def _keyed_by(self, owning: Owning) -> KeyedState:
        component = self._plan.logical.component(self._plan.task(self.task_id).component)
        tables = Tables(owning, functools.partial(key_types, self._plan.logical, component))
        return KeyedState(KeyRoster(owning), tables)

    def attach(self, component: Any) -> None:
        """Keep the `splits` of a spout that has declared some at those it owns."""
        self._component = component
        declared = self._plan.logical.component(self._plan.task(self.task_id).component).splits
        if declared:
            vars(component)["splits"] = SplitOwnership(self._plan, self.task_id).owned

    def group_of(self, key: object) -> int:
        """The group of a key of any owner; for tasks with keyed state."""
        owning = _owning(self._plan, self.task_id, self._cls)
        if owning is None:
            msg = f"the state of {self._plan.task(self.task_id).label} has no groups"
            raise DefinitionError(msg)
        return owning.group_of(key)

    def restore(self, saved: Saved) -> None:
        """Put in what was saved. What is there already stays, but for groups that are restored."""
        if saved.state is not None:
            self.open().update(decode_whole(saved.state))
            self._own_saved[0] = self._own
        for group, items in saved.opened().items():
            put_group(self._keyed(), group, items)
            self.ledger.pop(group, None)
        if saved.groups:
            put_tables(self._keyed(), saved.groups, saved.tables())
        if saved.ledger:
            self.ledger.update(saved.ledger)
            count_changes(self._keyed(), set())

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Go by another routing table. What has moved away stays until it is dropped."""
        self._plan = plan
        if self.keyed:
            owning = _owning(plan, self.task_id, self._cls)
            assert owning is not None
            use_ownership(self._keyed(), owning)
        if self._component is not None:
            self.attach(self._component)

    def drop(self, groups: Collection[int]) -> None:
        """Drop groups that another task owns now. A snapshot in progress is abandoned."""
        for group in groups:
            self.ledger.pop(group, None)
            if self.keyed:
                put_group(self._keyed(), group, {})
        if self.keyed:
            put_tables(self._keyed(), groups, {})

    def owned(self) -> list[int]:
        """The groups of this task."""
        owners = self._plan.key_groups.get(self._plan.task(self.task_id).component, ())
        return [group for group, owner in enumerate(owners) if owner == self.task_id]

    def changed(self) -> set[int] | None:
        """Groups in which something may have changed since changes are counted; None for all."""
        return changed_groups(self._keyed()) if self.keyed else set()

    def surely_unchanged(self) -> bool:
        """Whether nothing has changed since the last snapshot, whatever was called. Safe from any thread."""
        if self._state is None:
            return True
        # A value of a state that is not keyed may be changed in place, unseen.
        return is_unchanged(self._state) if isinstance(self._state, KeyedState) else not self._own

    def freeze(self, groups: Iterable[int], *, keep_changes: bool) -> Image | None:
        """An image of some groups; None if the state is not keyed."""
        return take_image(self._keyed(), groups, keep_changes=keep_changes) if self.keyed else None

    def whole(self) -> bytes | None:
        """All of a state that is not keyed; None if it has no entries."""
        return encode_whole(dict(self.open())) if self._own else None

    def held(self) -> Held:
        """What the task keeps at this moment. Safe from any thread."""
        if self._state is None:
            return Held(attributes=self._attributes())
        keyed = entries(self._state) if isinstance(self._state, KeyedState) else 0
        # A restore brings back what the checkpoint has, by whatever plan is in force then.
        saved = self._own_saved.copy().values() if has_runs(self._plan) else ()
        own = max([self._own, *saved])
        return Held(keyed=keyed, own=own, used=True)

    def note_snapshot(self, checkpoint: int) -> None:
        """The task goes back to this checkpoint if it becomes complete."""
        self._own_saved[checkpoint] = self._own

    def forget_before(self, checkpoint: int) -> None:
        """The checkpoint is complete: the task does not go back to earlier ones."""
        self._own_saved = {each: own for each, own in self._own_saved.items() if each >= checkpoint}

    @property
    def _own(self) -> int:
        """Entries that belong to no group."""
        return 0 if self._state is None or self.keyed else len(self._state)

    def _attributes(self) -> list[str]:
        """Attributes that the user's code has set; a transactional sink hands over what is in its own."""
        if self._component is None or isinstance(self._component, TransactionalSink):
            return []
        names = [name for name in list(vars(self._component)) if name not in ENGINE_ATTRIBUTES]
        return sorted(names, key=lambda name: name != "state")[:_NAMED]

    def _keyed(self) -> KeyedState:
        state = self.open()
        if not isinstance(state, KeyedState):
            label = self._plan.task(self.task_id).label
            msg = f"{label} has saved key groups, but its state is not keyed any more"
            raise DefinitionError(msg, hint="submit the class and the groupings that it was saved with")
        return state


def _owning(plan: PhysicalPlan, task_id: int, cls: type) -> Owning | None:
    """The ownership check for the keys of a task; None for a state that takes any key."""
    component = plan.logical.component(plan.task(task_id).component)
    if component.splits:
        return SplitOwnership(plan, task_id)
    if state_is_by_task(cls):
        return None
    edges = [edge for edge in component.inputs if edge.grouping.kind == "fields"]
    if edges:
        return Ownership(plan, task_id, key_fields(component.name, edges))
    if issubclass(cls, StatefulComponent):
        msg = f"{cls.__qualname__} has keyed = True, but {component.name!r} reads nothing by fields grouping"
        raise DefinitionError(msg, hint="read by key: inputs={spec: Grouping.fields('name')}")
    return None
