"""From a declared grouping and a plan to the object that chooses."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from heronpy.instances.output.groupings.custom import Chooser, Custom
from heronpy.instances.output.groupings.fields import Fields
from heronpy.instances.output.groupings.fixed import Fixed
from heronpy.instances.output.groupings.shuffle import Shuffle
from heronpy.kernel.plans import Component, Input, PhysicalPlan

T = TypeVar("T", covariant=True)
L = TypeVar("L")


class Grouping(Protocol[T]):
    """Chooses among ready-made lanes, so that a choice costs no allocation."""

    def targets(self, row: tuple[Any, ...]) -> Sequence[T]: ...


def make_grouping(
    plan: PhysicalPlan,
    consumer: Component,
    edge: Input,
    lanes: Mapping[int, L],
    *,
    container: int,
    custom: Callable[[Input, Sequence[int]], Chooser],
    pick: Callable[[int], int] = random.randrange,
) -> Grouping[L] | None:
    """None for a direct edge: there the emitter names the task.

    `lanes` has one entry per task of the consumer; `container` is the emitter's own; `custom` makes and
    prepares the user's grouping object; `pick` says which of so many tasks a shuffle begins with.
    """
    tasks = sorted(lanes)
    where = f"stream {edge.stream!r} of {edge.component!r} to {consumer.name!r}"
    match edge.grouping.kind:
        case "direct":
            return None
        case "all":
            return Fixed([lanes[task] for task in tasks])
        case "global":
            return Fixed([lanes[tasks[0]]])
        case "fields":
            declared = plan.logical.component(edge.component).stream(edge.stream)
            assert declared is not None
            owners = plan.key_groups[consumer.name]
            return Fields(lanes, owners, edge.grouping.fields, declared.fields, where)
        case "custom":
            return Custom(lanes, custom(edge, tasks), where)
        case "local_or_shuffle":
            near = [task.id for task in plan.tasks_of(consumer.name) if task.container == container]
            return Shuffle([lanes[task] for task in near or tasks], pick)
        case _:
            return Shuffle([lanes[task] for task in tasks], pick)
