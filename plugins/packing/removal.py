"""Which instances go when a component shrinks."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from heronpy.kernel.plans import InstancePlan, PackingPlan

#: container id → its instances
Placement = dict[int, list[InstancePlan]]
#: (instances of the component, instances in all, container id) → smallest goes first
Preference = Callable[[int, int, int], tuple[int, ...]]


def placement_of(plan: PackingPlan) -> Placement:
    return {container.id: list(container.instances) for container in plan.containers}


def emptiest_first(mine: int, total: int, container_id: int) -> tuple[int, ...]:
    """Free whole containers: nothing else in them, then the smallest, the highest share, the highest id.

    Between containers of one size the higher share is the higher count.
    """
    return (mine != total, total, -mine, -container_id)


def fullest_first(mine: int, total: int, container_id: int) -> tuple[int, ...]:
    """Keep containers level."""
    del mine
    return (-total, -container_id)


def remove(placed: Placement, shrink: Mapping[str, int], preference: Preference) -> Placement:
    """What is left; empty containers stay in it. Inside a container the highest index goes first."""
    doomed: set[int] = set()
    totals = {container_id: len(instances) for container_id, instances in placed.items()}
    by_component = _by_component(placed, shrink, _spared(placed, shrink))
    for component, count in shrink.items():
        held = by_component[component]
        # removing changes the rank of no container but the one removed from, so the heap stays true
        queue = [(preference(len(mine), totals[where], where), where) for where, mine in held.items()]
        heapq.heapify(queue)
        for _ in range(count):
            _, where = heapq.heappop(queue)
            doomed.add(held[where].pop().task)
            totals[where] -= 1
            if held[where]:
                heapq.heappush(queue, (preference(len(held[where]), totals[where], where), where))
    return {
        where: [instance for instance in instances if instance.task not in doomed]
        for where, instances in placed.items()
    }


def _spared(placed: Placement, shrink: Mapping[str, int]) -> set[int]:
    """The lowest task of each component that keeps any: what a global grouping sends to it must not move."""
    lowest: dict[str, int] = {}
    left: dict[str, int] = {}
    for instance in (instance for instances in placed.values() for instance in instances):
        name = instance.component
        lowest[name] = min(lowest.get(name, instance.task), instance.task)
        left[name] = left.get(name, -shrink.get(name, 0)) + 1
    return {task for name, task in lowest.items() if left[name] > 0}


def _by_component(placed: Placement, shrink: Mapping[str, int], spared: set[int]) -> dict[str, Placement]:
    """For each shrinking component, those that may go per container, lowest index first."""
    found: dict[str, Placement] = {component: {} for component in shrink}
    for where, instances in placed.items():
        for instance in sorted(instances, key=_index):
            if instance.component in found and instance.task not in spared:
                found[instance.component].setdefault(where, []).append(instance)
    return found


def _index(instance: InstancePlan) -> int:
    return instance.index


def drain(placed: Placement, shrink: Mapping[str, int], count: int) -> tuple[Placement, dict[str, int]]:
    """Take up to `count` containers away whole, highest id first, and what then is left to shrink."""
    left = dict(shrink)
    kept = dict(placed)
    spared = _spared(placed, shrink)
    for where in sorted(placed, reverse=True):
        if len(placed) - len(kept) == count:
            break
        if any(instance.task in spared for instance in placed[where]):
            continue
        held = _counts(placed[where])
        if all(number <= left.get(component, 0) for component, number in held.items()):
            del kept[where]
            for component, number in held.items():
                left[component] -= number
    return kept, left


def _counts(instances: Sequence[InstancePlan]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for instance in instances:
        counts[instance.component] = counts.get(instance.component, 0) + 1
    return counts
