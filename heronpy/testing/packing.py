"""For tests of packing: small topologies, and plans drawn with one letter per instance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from heronpy.kernel.config import load_config
from heronpy.kernel.plans import Component, ContainerPlan, InstancePlan, LogicalPlan, PackingPlan
from heronpy.kernel.plans.packing import DEFAULT_INSTANCE
from heronpy.kernel.plugin import ResourceManager

FOUR_AND_THREE = {"spout": 4, "bolt": 3}
LETTERS = {"S": "spout", "B": "bolt"}


def topology_of(
    counts: Mapping[str, int] = FOUR_AND_THREE, config: Mapping[str, Any] | None = None
) -> LogicalPlan:
    """A topology named "t" with so many instances of each component; "bolt" is the only bolt."""
    components = (
        Component(name, "bolt" if name == "bolt" else "spout", f"m.{name}", count)
        for name, count in counts.items()
    )
    return LogicalPlan("t", tuple(components), dict(config or {}))


def initialized(
    kind: type[ResourceManager],
    config: Mapping[str, Any] | None = None,
    counts: Mapping[str, int] = FOUR_AND_THREE,
) -> ResourceManager:
    """A resource manager that is ready to pack such a topology; `config` is the topology's."""
    manager = kind()
    manager.initialize(load_config(os.devnull, environ={}), topology_of(counts, config))
    return manager


def drawn(picture: Mapping[int, str], algorithm: str = "binpack") -> PackingPlan:
    """The plan that {1: "SSB", 3: "BB"} shows: spouts and bolts of the default size."""
    used = dict.fromkeys(LETTERS, 0)
    task = 1
    containers = []
    for where, letters in picture.items():
        instances = []
        for letter in letters:
            instances.append(InstancePlan(task, LETTERS[letter], used[letter]))
            used[letter] += 1
            task += 1
        whole = sum((instance.resources for instance in instances), DEFAULT_INSTANCE)
        containers.append(ContainerPlan(where, tuple(instances), whole))
    return PackingPlan("t", algorithm, tuple(containers), next_task=task)


def pictured(plan: PackingPlan) -> dict[int, str]:
    """The way back, from the first letters of the components."""
    return {
        container.id: "".join(instance.component[0].upper() for instance in container.instances)
        for container in plan.containers
    }
