"""What a task reads from the checkpoint store: its share of a checkpoint, or the handovers of other tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from heronpy.instances.saving.state.encoding import decode_group, decode_tables, decode_whole
from heronpy.instances.saving.state.object_format import Sections, read_object
from heronpy.instances.saving.state.saved_watermarks import WATERMARKS, decode_watermarks
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, read_manifest, read_part
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.tree.update import Handover

#: where among the extras a state lies that is not keyed
STATE: Final = "state"
#: … and what only the same task is to know
NOTES: Final = "notes"


@dataclass
class Saved:
    """For one task, as it was stored."""

    groups: dict[int, bytes] = field(default_factory=dict)
    #: what belonged to the task itself, then what belonged to tasks that are no more
    extras: list[Mapping[str, bytes]] = field(default_factory=list)
    #: of a task whose state is not keyed
    state: bytes | None = None
    #: what its own predecessor knew besides
    notes: Any = None
    #: where each group lies, if it may stay there; nothing of what is handed over may
    ledger: dict[int, StoredPart] = field(default_factory=dict)
    #: how far each group has been worked in event time
    watermarks: dict[int, int] = field(default_factory=dict)
    _opened: dict[int, dict[Any, Any]] | None = None

    def opened(self) -> dict[int, dict[Any, Any]]:
        """The groups with their keys and values. The first call decodes them, and may be made early."""
        if self._opened is None:
            self._opened = {group: decode_group(data) for group, data in self.groups.items()}
        return self._opened

    def tables(self) -> dict[str, dict[int, list[bytes]]]:
        """Table → group → its entries, in one part or more."""
        found: dict[str, dict[int, list[bytes]]] = {}
        for group, data in self.groups.items():
            for name, entries in decode_tables(data):
                found.setdefault(name, {}).setdefault(group, []).append(entries)
        return found


class _Reader:
    """Reads every object once."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._read: dict[str, Sections] = {}

    def sections(self, part: StoredPart) -> Sections:
        found = self._read.get(part.object)
        if found is None:
            found = self._read[part.object] = read_object(part.object, read_part(self._store, part))
        return found

    def extras(self, parts: Iterable[StoredPart]) -> dict[str, bytes]:
        return {
            name: data for part in parts if part.whole for name, data in self.sections(part).extras.items()
        }

    def watermarks(self, parts: Iterable[StoredPart]) -> dict[int, int]:
        """Group → how far it has been worked, of all groups of the task that wrote these."""
        found = self.extras(parts).get(WATERMARKS)
        return decode_watermarks(found) if found is not None else {}


def load_checkpoint(store: CheckpointStore, ref: CheckpointRef, plan: PhysicalPlan, task_id: int) -> Saved:
    """The task's share of a checkpoint by the plan in force, which may differ from the plan at the save.

    Groups go to their current owner, all else to the task of the same index. The extras of an index that no
    longer exists go to the lowest task of the component, except for states that are not keyed.
    CheckpointDamaged if an object is missing or has changed; TopologyError if the number of key groups
    differs.
    """
    manifest, task, reader = read_manifest(store, ref), plan.task(task_id), _Reader(store)
    before = [saved for saved in manifest.tasks if saved.component == task.component]
    numbers = _numbers(manifest, plan, task.component) if any(_groups(before)) else {}
    owners = plan.key_groups.get(task.component, ())
    saved = Saved()
    for part in (part for one in before for part in one.parts):
        for group in part.groups:
            now = numbers.get(group)
            if now is not None and owners[now] == task_id:
                saved.groups[now] = reader.sections(part).groups[group]
                if now == group:
                    saved.ledger[group] = part
    if plan.logical.component(task.component).hears_watermarks:
        # also of groups without keys, which are in no part
        for group, at in (pair for one in before for pair in reader.watermarks(one.parts).items()):
            if group < len(owners) and owners[group] == task_id:
                saved.watermarks[group] = at
    indices = {other.index for other in plan.tasks_of(task.component)}
    own = [one for one in before if one.index == task.index]
    orphans = [one for one in before if one.index not in indices]
    _add_extras(saved, [reader.extras(one.parts) for one in own], own=True)
    if task_id == plan.tasks_of(task.component)[0].id:
        _add_extras(saved, [reader.extras(one.parts) for one in orphans], own=False)
    return saved


def load_handovers(
    store: CheckpointStore,
    handovers: Iterable[Handover],
    groups: Mapping[int, int],
    extras_of: Collection[int] = (),
    *,
    task_id: int,
) -> Saved:
    """What a task is given: each group from the task that hands it over, and the extras of some tasks.

    The state of a task that is not keyed comes only from its own predecessor, which has its id.
    """
    saved, reader = Saved(), _Reader(store)
    givers = set(groups.values())
    for handover in handovers:
        for part in handover.parts:
            for group in part.groups:
                if groups.get(group) == handover.task:
                    saved.groups[group] = reader.sections(part).groups[group]
        if handover.task in givers:
            worked = reader.watermarks(handover.parts)
            saved.watermarks.update(
                (group, at) for group, at in worked.items() if groups.get(group) == handover.task
            )
        if handover.task in extras_of:
            _add_extras(saved, [reader.extras(handover.parts)], own=handover.task == task_id)
    return saved


def _add_extras(saved: Saved, found: Iterable[dict[str, bytes]], *, own: bool) -> None:
    for extras in found:
        state = extras.pop(STATE, None)
        notes = extras.pop(NOTES, None)
        extras.pop(WATERMARKS, None)
        if own:
            saved.state = state
            saved.notes = decode_whole(notes) if notes is not None else None
        if extras:
            saved.extras.insert(0 if own else len(saved.extras), extras)


def _groups(before: Iterable[SavedTask]) -> Iterable[tuple[int, ...]]:
    return (part.groups for one in before for part in one.parts)


def _numbers(manifest: Manifest, plan: PhysicalPlan, component: str) -> dict[int, int]:
    """Group in the checkpoint → group by the plan. Splits go by their names; one that is no more has none."""
    now = plan.logical.component(component).splits
    before = manifest.splits.get(component, ())
    if now or before:
        return {number: now.index(name) for number, name in enumerate(before) if name in now}
    if manifest.key_groups != plan.logical.key_groups:
        msg = (
            f"checkpoint {manifest.id} of {manifest.topology!r} has {manifest.key_groups} key groups,"
            f" and topology {plan.topology!r} has {plan.logical.key_groups}"
        )
        raise TopologyError(msg, hint=f"set topology.key.groups to {manifest.key_groups}")
    return {group: group for group in range(manifest.key_groups)}
