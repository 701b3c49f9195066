"""Limits of a packing plan: one beyond them is refused before anything is started or changed."""

from __future__ import annotations

from heronpy.kernel.config import Config
from heronpy.kernel.errors import PackingError
from heronpy.kernel.machine.addresses import HIGHEST_PORT
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan
from heronpy.kernel.plans.packing import LAST_TRACKED_TASK
from heronpy.kernel.plugin.state_manager import MAX_VALUE


def check_limits(config: Config, topology: LogicalPlan, packing: PackingPlan, plan: PhysicalPlan) -> None:
    """Raise a PackingError for a container that would have no port, or a spout whose id is too high, or a
    plan that no node of the state tree can hold."""
    _check_size(packing, plan)
    _check_ports(config, packing)
    if topology.reliability == "at_least_once":
        _check_spouts(topology, packing)


def _check_size(packing: PackingPlan, plan: PhysicalPlan) -> None:
    if max(len(packing.to_json()), len(plan.to_json())) <= MAX_VALUE:
        return
    counts = ", ".join(f"{name} {count:,}" for name, count in plan.logical.parallelism().items())
    msg = f"topology {plan.topology!r} has too many instances to be described in the state tree: {counts}"
    raise PackingError(msg, hint="give its components a smaller par=… in the file")


def _check_ports(config: Config, packing: PackingPlan) -> None:
    base, last = config.integer("transport.port"), max(container.id for container in packing.containers)
    if base and base + last > HIGHEST_PORT:
        msg = (
            f"transport.port is {base} (from {config.origin('transport.port')}), and container {last} would"
            f" listen on {base + last}, where ports end at {HIGHEST_PORT}"
        )
        raise PackingError(msg, hint=f"--set transport.port={HIGHEST_PORT - last}, or a lower port")


def _check_spouts(topology: LogicalPlan, packing: PackingPlan) -> None:
    """Ids are never used again, so a topology that is scaled often enough reaches the last one."""
    scaled = packing.next_task > len(packing.instances()) + 1
    spouts = {component.name for component in topology.components if component.kind == "spout"}
    for instance in packing.instances():
        if instance.component in spouts and instance.task > LAST_TRACKED_TASK:
            msg = (
                f"spout {instance.component!r} would get the task id {instance.task}, and at least once a"
                f" spout's id is at most {LAST_TRACKED_TASK}"
            )
            again = "kill --keep-checkpoints, then submit --from: ids begin at 1 again"
            raise PackingError(
                msg, hint=again if scaled else "give its components a smaller par=… in the file"
            )
