"""The three plans of a topology, as immutable values: logical, packing, physical."""

from heronpy.kernel.plans.logical import (
    Component,
    Grouping,
    Input,
    LogicalPlan,
    Source,
    Stream,
)
from heronpy.kernel.plans.packing import ContainerPlan, InstancePlan, PackingPlan, Resources, union
from heronpy.kernel.plans.physical import PhysicalPlan, Task, affected, moves, next_plan, physical_plan

__all__ = [
    "Component",
    "ContainerPlan",
    "Grouping",
    "Input",
    "InstancePlan",
    "LogicalPlan",
    "PackingPlan",
    "PhysicalPlan",
    "Resources",
    "Source",
    "Stream",
    "Task",
    "affected",
    "moves",
    "next_plan",
    "physical_plan",
    "union",
]
