"""State that tasks report, and which of it another plan could not take over. Decides; does no I/O.

`update` asks before it begins, the Topology Master at the cut, `submit --from` of a checkpoint: all get the
same answer for the same change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from heronpy.kernel.plans import Component, PhysicalPlan, affected
from heronpy.kernel.protocol import Held as HeldMessage

#: most tasks that a sentence names
NAMED: Final = 5


class KeptState(msgspec.Struct, frozen=True):
    """What one task keeps."""

    #: entries of its state that lie in key groups, or splits, and move with them
    keyed: int = 0
    #: entries that belong to the task alone: now, or in a checkpoint that it may have to go back to
    own: int = 0
    #: whether its code has used its state
    used: bool = False
    #: attributes that its code has set, where it has not
    attributes: tuple[str, ...] = ()


def held_of(message: HeldMessage) -> KeptState:
    """As a beat has it."""
    return KeptState(message.keyed, message.own, message.used, tuple(message.attributes))


def objections(before: PhysicalPlan, after: PhysicalPlan, held: Mapping[int, KeptState]) -> list[str]:
    """What does not go along from one plan to the next, a sentence each. `held` is by task."""
    return [
        reason
        for name in affected(before, after)
        for reason in _of_component(before, after, name, held)
        if reason
    ]


def not_divisible(
    component: Component, own: Mapping[str, int], ending: Collection[str], *, more: bool
) -> str:
    """Why state that belongs to tasks is lost when the number of tasks changes; empty if it is not.

    `own` is label → entries, `ending` the labels of tasks that end, and `more` says whether others begin.
    """
    ends = {label: entries for label, entries in own.items() if label in ending}
    kinds = {edge.grouping.kind for edge in component.inputs}
    if ends:
        return f"state of {_counted(ends)} belongs to no key and ends with its task"
    if own and component.by_fields:
        return f"state of {_counted(own)} is kept by task and does not move with its keys"
    if own and more and "all" in kinds:
        return (
            f"state of {_counted(own)} comes from tuples that all tasks get, and new tasks begin without it"
        )
    if own and (more or ending) and kinds & {"custom", "direct"}:
        kind = min(kinds & {"custom", "direct"})
        return (
            f"state of {_counted(own)} stays where it is, and a {kind} grouping may send its tuples elsewhere"
        )
    return ""


def _of_component(
    before: PhysicalPlan, after: PhysicalPlan, name: str, held: Mapping[int, KeptState]
) -> list[str]:
    component = before.logical.component(name)
    tasks = before.tasks_of(name)
    kept = {task.label: held.get(task.id, KeptState()) for task in tasks}
    ending = {task.label for task in tasks if not after.has(task.id)}
    more = any(not before.has(task.id) for task in after.tasks_of(name))
    own = {label: one.own for label, one in kept.items() if one.own}
    assigned = sorted(label for label in ending if "state" in kept[label].attributes)
    found = [not_divisible(component, own, ending, more=more)]
    if component.by_fields:
        found.append(_attributes(component, kept))
    elif assigned:
        found.append(
            f"what {_named(assigned)} assigned to self.state is not the engine's, and ends with its task"
        )
    return found


def _attributes(component: Component, kept: Mapping[str, KeptState]) -> str:
    """Of a component that keeps nothing in its state: it may keep it elsewhere."""
    names = sorted({name for one in kept.values() for name in one.attributes})
    if not names or any(one.used for one in kept.values()):
        return ""
    plain = ", ".join(names[:NAMED])
    who = f"bolt {component.name!r} does not use self.state"
    return f"{who}: its plain attributes ({plain}) do not move with their keys"


def _counted(entries: Mapping[str, int]) -> str:
    """b[1] (200 entries), b[2] (1 entry); without the number where a checkpoint does not tell it."""
    return _named([f"{label}{_number(count)}" for label, count in entries.items()])


def _number(entries: int) -> str:
    return f" ({entries:,} {'entry' if entries == 1 else 'entries'})" if entries else ""


def _named(labels: list[str]) -> str:
    more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return ", ".join(labels[:NAMED]) + more
