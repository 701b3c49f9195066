"""Packing `round_robin`: a fixed number of containers, instances dealt to them in turn."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.plans import LogicalPlan, PackingPlan
from heronpy.kernel.plugin import ResourceManager
from heronpy.plugins.packing.changes import (
    checked_changes,
    first_instances,
    new_instances,
    repacked,
    shrinking,
)
from heronpy.plugins.packing.removal import Placement, drain, fullest_first, placement_of, remove
from heronpy.plugins.packing.request import read_request
from heronpy.plugins.packing.shares import shared_out


class RoundRobin(ResourceManager):
    """Deals all instances to `topology.stmgrs` containers.

    RAM is divided: components in `topology.component.rammap` get what they ask for, the others share what
    their container leaves. CPU and disk are what was asked for.

    A repack goes by the average number of instances per container that was asked for, as far as that needs
    no move: by the present average, every way up and down again would end with more containers.
    """

    name = "round_robin"

    @override
    def initialize(self, config: Config, topology: LogicalPlan) -> None:
        del config
        self._request = read_request(topology)

    @override
    def pack(self) -> PackingPlan:
        request = self._request
        count = request.checked_stmgrs()
        instances = first_instances(request, request.dealing_order())
        dealt = {where + 1: instances[where::count] for where in range(count)}
        containers = shared_out(request, dealt)
        return PackingPlan(request.topology, self.name, containers, next_task=len(instances) + 1)

    @override
    def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
        changes = checked_changes(self._request, current, changes)
        placed = placement_of(current)
        asked, total = self._request, len(current.instances()) + sum(changes.values())
        wanted = -(-total * asked.stmgrs // sum(asked.counts.values()))
        kept, shrink = drain(placed, shrinking(changes), max(len(placed) - wanted, 0))
        kept = remove(kept, shrink, fullest_first)
        first_new = max(placed) + 1
        kept |= {first_new + number: [] for number in range(wanted - len(kept))}
        grown = new_instances(self._request, current, changes, self._request.dealing_order())
        levels = [(len(instances), where) for where, instances in kept.items()]
        heapq.heapify(levels)
        for instance in grown:
            level, where = heapq.heappop(levels)
            kept[where].append(instance)
            heapq.heappush(levels, (level + 1, where))
        return repacked(current, shared_out(self._request, _without_empty(kept)), grown)


def _without_empty(placed: Placement) -> Placement:
    return {where: instances for where, instances in placed.items() if instances}
