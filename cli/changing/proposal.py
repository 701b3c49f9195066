"""What an update would change: the next packing and routing table, worked out without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from heronpy.cli.submitting.limits import check_limits
from heronpy.container.folders import launch_file
from heronpy.kernel.config import Config
from heronpy.kernel.errors import PackingError, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import (
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    PlacedTask,
    affected,
    fused,
    moves,
    next_plan,
)
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.tree.paths import Execution, Tree
from heronpy.kernel.tree.registrations import needed, read, read_version
from heronpy.kernel.tree.update import Update


class InForce(NamedTuple):
    """What is in force, and the update that runs or ran last."""

    topology: str
    algorithm: str
    packing: PackingPlan
    plan: PhysicalPlan
    #: as it was submitted
    definition: LogicalPlan
    last: Update | None
    #: of the node `update`; None when there is none
    version: int | None

    @property
    def next_epoch(self) -> int:
        return max(self.plan.epoch, self.last.epoch if self.last else 0) + 1


class Proposal(NamedTuple):
    """One plan and the next."""

    current: PhysicalPlan
    proposed: PhysicalPlan
    before: PackingPlan
    after: PackingPlan

    @property
    def affected(self) -> list[str]:
        return affected(self.current, self.proposed)

    @property
    def moves(self) -> dict[str, dict[int, tuple[int, int]]]:
        return moves(self.current, self.proposed)

    def new_tasks(self, component: str) -> list[PlacedTask]:
        known = {task.id for task in self.current.tasks}
        return [task for task in self.proposed.tasks_of(component) if task.id not in known]

    def retiring(self, component: str) -> list[PlacedTask]:
        kept = {task.id for task in self.proposed.tasks}
        return [task for task in self.current.tasks_of(component) if task.id not in kept]


def look(state: StateManager, name: str) -> InForce:
    """Read the plans an update starts from. `update` is read first: every change of the rest changes it."""
    tree = Tree(name)
    last, version = read_version(state, tree.update, Update) or (None, None)
    execution = read(state, tree.execution, Execution)
    plan = read(state, tree.physical_plan, PhysicalPlan)
    if plan is None or execution is None or not state.exists(tree.master):
        msg = f"topology {name!r} has no topology master that could change it"
        raise UserError(msg, hint=f"heronpy status {name}")
    packing = needed(state, tree.packing_plan, PackingPlan)
    definition = needed(state, tree.definition, LogicalPlan)
    return InForce(name, execution.packing, packing, plan, definition, last, version)


def propose(config: Config, registry: Registry, now: InForce, wanted: Mapping[str, int]) -> Proposal:
    """Repack with the algorithm that packed the topology, which gets the present owners of key groups."""
    rolled_back = now.last.packing.next_task if now.last is not None else 0
    current = msgspec.structs.replace(
        now.packing,
        # ids that an update has used are never used again, even if it was rolled back
        next_task=max(now.packing.next_task, rolled_back),
        key_groups=dict(now.plan.key_groups),
    )
    counts = now.plan.logical.parallelism()
    changes = {name: count - counts[name] for name, count in wanted.items()}
    submitted = _submitted_config(config, now.topology)
    manager = registry.resource_manager(now.algorithm)()
    try:
        manager.initialize(submitted, now.definition)
        repacked = fused(now.definition, manager.repack(current, changes))
    finally:
        manager.close()
    _check_repacked(current, repacked, {**counts, **wanted})
    asked = {
        name: table for name, table in repacked.key_groups.items() if table != current.key_groups.get(name)
    }
    after = msgspec.structs.replace(repacked, epoch=now.next_epoch, key_groups=asked)
    proposed = next_plan(now.plan, after, now.next_epoch)
    check_limits(submitted, now.definition, after, proposed)
    return Proposal(now.plan, proposed, now.packing, after)


def _submitted_config(config: Config, name: str) -> Config:
    """The settings that the topology was submitted with, where this machine has them.

    Settings of a plugin may be given anew: they are its parameters for this update.
    """
    path = launch_file(config, name)
    if not path.exists():
        return config
    submitted = Config.from_plain(TopologyLaunch.read(path).config)
    return Config({**submitted, **{key: config[key] for key in config if key.startswith("plugins.")}}, {})


def _check_repacked(before: PackingPlan, after: PackingPlan, wanted: Mapping[str, int]) -> None:
    known = {instance.task for instance in before.instances()}
    for instance in after.instances():
        if instance.task not in known and not before.next_task <= instance.task < after.next_task:
            who = f"packing {after.algorithm!r} gave {instance.component!r} the task id {instance.task}"
            msg = f"{who}, which was used before or is not below its next_task"
            raise PackingError(msg)
    for component, count in wanted.items():
        got = after.counts().get(component, 0)
        if got != count:
            msg = (
                f"packing {after.algorithm!r} was asked for {count} instances of {component!r} and gave {got}"
            )
            raise PackingError(msg)
