"""Packing `binpack`: first fit decreasing, as few containers as that gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.plans import InstancePlan, LogicalPlan, PackingPlan
from heronpy.kernel.plugin import ResourceManager
from heronpy.plugins.packing.capacity import Bin, Capacity, Size, capacity_of, size_of
from heronpy.plugins.packing.changes import (
    checked_changes,
    first_instances,
    growing,
    new_instances,
    repacked,
    shrinking,
)
from heronpy.plugins.packing.removal import emptiest_first, placement_of, remove
from heronpy.plugins.packing.request import PackingRequest, read_request


class BinPack(ResourceManager):
    """Largest instances first, each into the lowest container that has room; the count is what comes out.

    A repack shrinks first, in the order that frees whole containers, then fits what is new into what is left.
    """

    name = "binpack"

    @override
    def initialize(self, config: Config, topology: LogicalPlan) -> None:
        del config
        self._request = read_request(topology)
        self._capacity = capacity_of(self._request)

    @override
    def pack(self) -> PackingPlan:
        order = largest_first(self._request)
        self._capacity.check(order)
        instances = first_instances(self._request, order)
        bins = first_fit([], instances, self._capacity, next_id=1)
        containers = tuple(self._capacity.plan(each.id, each.instances) for each in bins)
        return PackingPlan(self._request.topology, self.name, containers, next_task=len(instances) + 1)

    @override
    def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
        changes = checked_changes(self._request, current, changes)
        self._capacity.check(growing(changes))
        left = remove(placement_of(current), shrinking(changes), emptiest_first)
        survivors = [Bin(where, self._capacity.room, left[where]) for where in sorted(left) if left[where]]
        grown = new_instances(self._request, current, changes, largest_first(self._request))
        bins = first_fit(survivors, grown, self._capacity, next_id=max(left, default=0) + 1)
        containers = tuple(self._capacity.plan(each.id, each.instances) for each in bins)
        return repacked(current, containers, grown)


def largest_first(request: PackingRequest) -> list[str]:
    """Components by RAM then CPU (or the other way round), descending; equals as they were declared."""

    def rank(component: str) -> tuple[float, float]:
        size = request.instance(component)
        return (-size.ram, -size.cpu) if request.sort_first == "ram" else (-size.cpu, -size.ram)

    return sorted(request.counts, key=rank)


def first_fit(
    bins: list[Bin], instances: Iterable[InstancePlan], capacity: Capacity, *, next_id: int
) -> list[Bin]:
    """Each instance into the first bin that takes it, else into a new one, which must be large enough."""
    # bins only fill up, so one that refused a size once refuses it always: no size looks at a bin twice
    first_open: dict[Size, int] = {}
    for instance in instances:
        size = size_of(instance.resources)
        position = first_open.get(size, 0)
        while position < len(bins) and not bins[position].takes(size):
            position += 1
        first_open[size] = position
        if position == len(bins):
            bins.append(Bin(next_id, capacity.room))
            next_id += 1
        bins[position].add(instance, size)
    return bins
