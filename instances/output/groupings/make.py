"""From a declared grouping and a plan to the object that chooses."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, assert_never

from heronpy.instances.output.groupings.custom import Chooser, Custom
from heronpy.instances.output.groupings.direct import Direct
from heronpy.instances.output.groupings.fields import Fields
from heronpy.instances.output.groupings.fixed import ToAll, ToLowest
from heronpy.instances.output.groupings.grouping import Grouping
from heronpy.instances.output.groupings.shuffle import Shuffle
from heronpy.kernel.plans import Component, Input, PhysicalPlan

T = TypeVar("T")


def make_grouping(
    plan: PhysicalPlan,
    consumer: Component,
    edge: Input,
    lanes: Mapping[int, T],
    *,
    container: int,
    custom: Callable[[Input, Sequence[int]], Chooser],
    pick: Callable[[int], int] = random.randrange,
) -> Grouping[T]:
    """The grouping of one edge of the plan.

    `lanes` has one entry per task of the consumer; `container` is the emitter's own; `custom` makes and
    prepares the user's grouping object; `pick` says which of so many tasks a shuffle begins with.
    """
    where = f"stream {edge.stream!r} of {edge.component!r} to {consumer.name!r}"
    match edge.grouping.kind:
        case "direct":
            return Direct(lanes)
        case "all":
            return ToAll(lanes)
        case "global":
            return ToLowest(lanes)
        case "fields":
            declared = plan.logical.component(edge.component).stream(edge.stream)
            assert declared is not None
            owners = plan.key_groups[consumer.name]
            return Fields(lanes, owners, edge.grouping.fields, declared.fields, where)
        case "custom":
            return Custom(lanes, custom(edge, sorted(lanes)), where)
        case "local_or_shuffle":
            near = [task.id for task in plan.tasks_of(consumer.name) if task.container == container]
            return Shuffle(lanes, pick, near)
        case "shuffle" | "none":
            return Shuffle(lanes, pick)
        case unknown:
            assert_never(unknown)
