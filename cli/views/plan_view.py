"""A packing plan as people and programs read it."""

from __future__ import annotations

from typing import Any, NamedTuple

from heronpy.kernel.plans import ContainerPlan, InstancePlan, LogicalPlan, PackingPlan, Resources


class Shown(NamedTuple):
    """Resources in words: "1.5", "2 GB", "512 MB"."""

    cpu: str
    ram: str
    disk: str


class InstanceRow(NamedTuple):
    """One instance: count[0], a bolt."""

    label: str
    kind: str
    resources: Shown


class ContainerRow(NamedTuple):
    """One container and its instances, in the order of the topology."""

    id: int
    resources: Shown
    instances: tuple[InstanceRow, ...]


def plan_rows(plan: PackingPlan, logical: LogicalPlan) -> tuple[ContainerRow, ...]:
    """What `--dry-run` shows, container by container."""
    kinds = {component.name: component.kind for component in logical.components}
    return tuple(
        ContainerRow(
            container.id,
            shown(container.resources),
            tuple(
                InstanceRow(_label(instance), kinds[instance.component], shown(instance.resources))
                for instance in _in_order(container, logical)
            ),
        )
        for container in plan.containers
    )


def plan_json(plan: PackingPlan, logical: LogicalPlan) -> dict[str, Any]:
    """The same for programs: CPU in cores, RAM and disk in bytes."""
    kinds = {component.name: component.kind for component in logical.components}
    return {
        "topology": plan.topology,
        "packing": plan.algorithm,
        "epoch": plan.epoch,
        "containers": [
            {
                "id": container.id,
                **_plain(container.resources),
                "instances": [
                    {
                        "label": _label(instance),
                        "task": instance.task,
                        "component": instance.component,
                        "kind": kinds[instance.component],
                        "index": instance.index,
                        **_plain(instance.resources),
                    }
                    for instance in _in_order(container, logical)
                ],
            }
            for container in plan.containers
        ],
    }


def shown(resources: Resources) -> Shown:
    return Shown(f"{resources.cpu:g}", shown_size(resources.ram), shown_size(resources.disk))


def shown_size(size: int) -> str:
    """1610612736 → "1.5 GB"; at most two decimals."""
    units = ("B", "KB", "MB", "GB", "TB")
    amount, unit = float(size), 0
    while round(amount, 2) >= 1024 and unit < len(units) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{round(amount, 2):.10g} {units[unit]}"


def _in_order(container: ContainerPlan, logical: LogicalPlan) -> list[InstancePlan]:
    ranks = {component.name: rank for rank, component in enumerate(logical.components)}
    return sorted(container.instances, key=lambda instance: (ranks[instance.component], instance.index))


def _label(instance: InstancePlan) -> str:
    return f"{instance.component}[{instance.index}]"


def _plain(resources: Resources) -> dict[str, float]:
    return {"cpu": resources.cpu, "ram": resources.ram, "disk": resources.disk}
