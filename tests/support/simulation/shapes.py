"""Small topologies, and how fast each of their parts is."""

from __future__ import annotations

import functools
import random
from typing import Literal

import msgspec

from heronpy.instances.flow_settings import FlowSettings
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    physical_plan,
)

Kind = Literal["line", "diamond", "direct"]

_FIELDS = (DeclaredStream("default", ("number", "serial", "life")),)
_SHUFFLE = DeclaredGrouping("shuffle")
_BY_NUMBER = DeclaredGrouping("fields", ("number",))


class Shape(msgspec.Struct, frozen=True):
    """What runs, and how."""

    kind: Kind
    plan: PhysicalPlan
    flow: FlowSettings
    #: seconds that a component's call takes
    costs: dict[str, float]
    #: tuples that a spout emits in one call
    burst: int
    #: tuples of each spout task
    tuples: int

    @property
    def tracked(self) -> bool:
        return self.plan.logical.reliability == "at_least_once"

    @property
    def roads(self) -> tuple[str, ...]:
        """The components from which a sink gets each number."""
        return {"line": ("relay",), "diamond": ("left", "right"), "direct": ("numbers",)}[self.kind]


def some_shape(dice: random.Random, *, tracked: bool, timeout: float, tuples: int) -> Shape:
    """Another one with each roll."""
    kind: Kind = dice.choice(("line", "line", "diamond", "direct"))
    spouts = dice.choice((1, 1, 2))
    if kind == "diamond":
        tuples //= 2  # each of them goes two ways
    plan = _plan(kind, spouts, dice.choice((2, 2, 3)), tracked, timeout, dice.choice((50, 400)))
    flow = FlowSettings(
        batch_tuples=dice.choice((10, 50)),
        linger=0.01,
        credit_window=dice.choice((0.01, 0.05)),
        credit_initial=dice.choice((16, 100)),
        credit_probe=dice.choice((0.2, 0.5)),
        idle_max=0.1,
    )
    costs = {name: dice.choice((20e-6, 100e-6)) for name in ("numbers", "relay", "left", "right", "sink")}
    costs["numbers"] = dice.choice((50e-6, 200e-6))
    costs[dice.choice(("numbers", "relay", "left", "sink"))] = 500e-6
    return Shape(kind, plan, flow, costs, dice.choice((1, 8)), tuples // spouts)


def bulk_shape(tuples: int) -> Shape:
    """One fast road for large batches."""
    costs = dict.fromkeys(("numbers", "sink"), 2e-6)
    flow = FlowSettings(credit_initial=4000, idle_max=0.1)
    return Shape("direct", _plan("direct", 1, 2, False, 600.0, 1000), flow, costs, 200, tuples)


@functools.cache
def _plan(
    kind: Kind, spouts: int, containers: int, tracked: bool, timeout: float, pending: int
) -> PhysicalPlan:
    components = [Component("numbers", "spout", "sim.Numbers", spouts, outputs=_FIELDS)]
    middle = {"line": ("relay",), "diamond": ("left", "right"), "direct": ()}[kind]
    for name in middle:
        read = (Input("numbers", "default", _SHUFFLE),)
        components.append(Component(name, "bolt", "sim.Relay", 2, read, _FIELDS))
    roads = tuple(Input(name, "default", _BY_NUMBER) for name in middle)
    components.append(
        Component("sink", "bolt", "sim.Sink", 2, roads or (Input("numbers", "default", _SHUFFLE),))
    )
    logical = LogicalPlan(
        "simulated",
        tuple(components),
        config={"topology.message.timeout.secs": timeout, "topology.max.spout.pending": pending},
        reliability="at_least_once" if tracked else "at_most_once",
        key_groups=16,
    )
    names = [(one.name, index) for one in components for index in range(one.parallelism)]
    instances = [InstancePlan(task, name, index) for task, (name, index) in enumerate(names, 1)]
    packed = tuple(
        ContainerPlan(number + 1, tuple(instances[number::containers]), Resources())
        for number in range(containers)
    )
    return physical_plan(logical, PackingPlan("simulated", "test", packed, len(names) + 1))
