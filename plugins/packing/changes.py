"""What a repack is asked for: checked deltas, the new instances they bring, and the plan that results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from heronpy.kernel.errors import PackingError, did_you_mean
from heronpy.kernel.plans import ContainerPlan, InstancePlan, PackingPlan
from heronpy.plugins.packing.request import PackingRequest


def checked_changes(
    request: PackingRequest, current: PackingPlan, changes: Mapping[str, int]
) -> dict[str, int]:
    """The deltas that are not zero, in the order of the topology; PackingError for one that cannot be."""
    counts = current.counts()
    for component, delta in changes.items():
        if component not in request.counts:
            msg = f"topology {current.topology!r} has no component {component!r}"
            raise PackingError(msg + did_you_mean(component, request.counts))
        have = counts.get(component, 0)
        if have + delta < 0:
            msg = f"cannot remove {-delta} instances of {component!r}: it has {have}, so remove fewer"
            raise PackingError(msg)
    if sum(counts.values()) + sum(changes.values()) < 1:
        removed = ", ".join(sorted(component for component, delta in changes.items() if delta < 0))
        msg = f"removing that many of {removed} would leave no instance: keep one, or kill the topology"
        raise PackingError(msg)
    return {component: changes[component] for component in request.counts if changes.get(component)}


def shrinking(changes: Mapping[str, int]) -> dict[str, int]:
    """How many instances go, per component."""
    return {component: -delta for component, delta in changes.items() if delta < 0}


def growing(changes: Mapping[str, int]) -> list[str]:
    """The components that get more instances."""
    return [component for component, delta in changes.items() if delta > 0]


def new_instances(
    request: PackingRequest, current: PackingPlan, changes: Mapping[str, int], order: Iterable[str]
) -> list[InstancePlan]:
    """The instances that come, component by component in this order, with ids that were never used."""
    last: dict[str, int] = {}
    for instance in current.instances():
        last[instance.component] = max(last.get(instance.component, -1), instance.index)
    grown = []
    task = current.next_task
    for component in order:
        resources = request.instance(component)
        first = last.get(component, -1) + 1
        for index in range(first, first + max(changes.get(component, 0), 0)):
            grown.append(InstancePlan(task, component, index, resources))
            task += 1
    return grown


def repacked(
    current: PackingPlan, containers: tuple[ContainerPlan, ...], grown: Sequence[InstancePlan]
) -> PackingPlan:
    """The plan that follows `current`, with `grown` among the instances of its containers."""
    return msgspec.structs.replace(
        current,
        containers=containers,
        next_task=current.next_task + len(grown),
        epoch=current.epoch + 1,
    )


def first_instances(request: PackingRequest, order: Iterable[str]) -> list[InstancePlan]:
    """Every instance of a topology that has no plan yet; task ids count from 1."""
    nothing = PackingPlan(request.topology, "", (), next_task=1)
    return new_instances(request, nothing, request.counts, order)
