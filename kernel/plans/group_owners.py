"""Ownership tables: which task owns which key group, or which split of a spout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans.logical import Component, LogicalPlan

#: the task that owns group 0, 1, …
Table = tuple[int, ...]


def groups_of(logical: LogicalPlan, component: Component) -> int:
    """How many groups are shared out among the component's tasks; 0 if it has none."""
    if component.kind == "spout":
        return len(component.splits)
    return logical.key_groups if component.by_fields else 0


def contiguous(owners: Sequence[int], groups: int) -> Table:
    """Assign ranges of groups to the owners; sizes differ by at most one."""
    return tuple(owners[group * len(owners) // groups] for group in range(groups))


def rebalanced(table: Table, owners: Sequence[int]) -> Table:
    """The table for other owners: sizes differ by at most one, with as few moves as possible.

    The larger shares go to the owners that have most groups already, which costs the fewest moves.
    """
    have = Counter(table)
    ranked = sorted(owners, key=lambda owner: (-have[owner], owner))
    least, larger = divmod(len(table), len(owners))
    room = {owner: least + (rank < larger) for rank, owner in enumerate(ranked)}
    kept: list[int | None] = []
    for owner in table:
        stays = room.get(owner, 0) > 0
        kept.append(owner if stays else None)
        if stays:
            room[owner] -= 1
    free = iter([owner for owner in sorted(owners) for _ in range(room[owner])])
    return tuple(next(free) if owner is None else owner for owner in kept)


def checked_table(component: str, table: Sequence[int], owners: Collection[int], groups: int) -> Table:
    """A table that a packing plugin asks for; PackingError if the component cannot be routed by it."""
    if not groups:
        msg = f"the packing has key_groups for {component!r}, which has no key groups: leave them out"
        raise PackingError(msg)
    if len(table) != groups:
        msg = f"the packing names owners of {len(table)} key groups of {component!r}, but there are {groups}"
        raise PackingError(msg)
    known = frozenset(owners)
    stranger = next((owner for owner in table if owner not in known), None)
    if stranger is not None:
        msg = (
            f"the packing gives key group {table.index(stranger)} of {component!r} to task {stranger},"
            f" which is none of its tasks {', '.join(map(str, sorted(owners)))}"
        )
        raise PackingError(msg)
    return tuple(table)
