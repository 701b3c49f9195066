"""The three plans of a topology, as immutable values: logical, packing, physical."""

from heronpy.kernel.plans.fusing import fused, is_fused
from heronpy.kernel.plans.logical import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    Source,
    StateShape,
)
from heronpy.kernel.plans.packing import ContainerPlan, InstancePlan, PackingPlan, Resources, union
from heronpy.kernel.plans.physical import PhysicalPlan, PlacedTask, affected, moves, next_plan, physical_plan

__all__ = [
    "Component",
    "ContainerPlan",
    "DeclaredGrouping",
    "DeclaredStream",
    "Input",
    "InstancePlan",
    "LogicalPlan",
    "PackingPlan",
    "PhysicalPlan",
    "PlacedTask",
    "Resources",
    "Source",
    "StateShape",
    "affected",
    "fused",
    "is_fused",
    "moves",
    "next_plan",
    "physical_plan",
    "union",
]
