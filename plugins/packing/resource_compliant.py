"""Packing `resource_compliant`: dealt in turn, and never more in a container than it can hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import groupby

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.plans import InstancePlan, LogicalPlan, PackingPlan
from heronpy.kernel.plugin import ResourceManager
from heronpy.plugins.packing.capacity import Bin, Size, capacity_of, size_of, total_size
from heronpy.plugins.packing.changes import (
    checked_changes,
    first_instances,
    growing,
    new_instances,
    repacked,
    shrinking,
)
from heronpy.plugins.packing.dealing import Run, fewest_containers, filled_by
from heronpy.plugins.packing.removal import Placement, emptiest_first, placement_of, remove
from heronpy.plugins.packing.request import read_request


class ResourceCompliant(ResourceManager):
    """Deals to `topology.stmgrs` containers, or to the next larger number of them that can hold the deal.

    A repack removes first, then gives each new instance to the next container that has room.
    """

    name = "resource_compliant"

    @override
    def initialize(self, config: Config, topology: LogicalPlan) -> None:
        del config
        self._request = read_request(topology)
        self._capacity = capacity_of(self._request)

    @override
    def pack(self) -> PackingPlan:
        request = self._request
        order = request.dealing_order()
        self._capacity.check(order)
        instances = first_instances(request, order)
        count = self._containers(order)
        containers = tuple(self._capacity.plan(where + 1, instances[where::count]) for where in range(count))
        return PackingPlan(request.topology, self.name, containers, next_task=len(instances) + 1)

    @override
    def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
        changes = checked_changes(self._request, current, changes)
        self._capacity.check(growing(changes))
        left = remove(placement_of(current), shrinking(changes), emptiest_first)
        grown = new_instances(self._request, current, changes, self._request.dealing_order())
        bins = self._placed(left, grown)
        if len(bins) > len(left):
            # what does not fit gets room as if it were all new, so that the deal stays even
            bins = self._placed(left, grown, fresh=self._filled_by_net(changes))
        filled = [each for each in bins if each.instances]
        containers = tuple(self._capacity.plan(each.id, each.instances) for each in filled)
        return repacked(current, containers, grown)

    def _containers(self, order: Iterable[str]) -> int:
        request = self._request
        runs = [Run(request.counts[name], size_of(request.instance(name))) for name in order]
        return fewest_containers(runs, self._capacity.room, request.checked_stmgrs())

    def _placed(self, left: Placement, grown: list[InstancePlan], fresh: int = 0) -> list[Bin]:
        """Survivors and `fresh` empty containers, filled with what is new; more are opened as needed."""
        room = self._capacity.room
        last = max(left, default=0)
        bins = [Bin(where, room, left[where]) for where in sorted(left)]
        bins += [Bin(last + number + 1, room) for number in range(fresh)]
        cursor = 0
        for size, run in groupby(grown, key=lambda instance: size_of(instance.resources)):
            # only containers that still take this size stay in the ring
            ring = deque([*range(cursor, len(bins)), *range(cursor)])
            for instance in run:
                cursor = self._next_with_room(ring, bins, size)
                bins[cursor].add(instance, size)
                ring.append(cursor)
            cursor = (cursor + 1) % len(bins)
        return bins

    def _next_with_room(self, ring: deque[int], bins: list[Bin], size: Size) -> int:
        while ring:
            position = ring.popleft()
            if bins[position].takes(size):
                return position
        bins.append(Bin(bins[-1].id + 1, self._capacity.room))
        return len(bins) - 1

    def _filled_by_net(self, changes: Mapping[str, int]) -> int:
        net = total_size(
            size_of(self._request.instance(component)).times(delta) for component, delta in changes.items()
        )
        return filled_by(net, self._capacity.room)
