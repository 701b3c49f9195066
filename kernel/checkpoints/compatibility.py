"""Whether a topology can start from a checkpoint of another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from heronpy.kernel.checkpoints.manifest import Manifest
from heronpy.kernel.checkpoints.state_shapes import reshaped
from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.state_transfer import not_divisible

DROP = "--allow-dropped-state"


def check_compatible(label: str, manifest: Manifest, plan: LogicalPlan, *, drop: bool = False) -> None:
    """UserError with the first reason why it cannot. With `drop`, state without a component is ignored."""
    if manifest.key_groups != plan.key_groups:
        msg = (
            f"checkpoint {label} has {manifest.key_groups} key groups, and topology {plan.name!r} has"
            f" {plan.key_groups}: the number cannot change"
        )
        raise UserError(msg, hint=f"set topology.key.groups: {manifest.key_groups} in its config")
    _check_splits(label, manifest, plan)
    for component in sorted(keyed(manifest) | opaque(manifest)):
        reason = _no_place(manifest, plan, component)
        if reason and not drop:
            msg = f"checkpoint {label} has {reason}"
            raise UserError(msg, hint=f"pass {DROP} if that state is no longer needed")
        if not drop:
            _check_parallelism(label, manifest, plan, component)


def dropped(manifest: Manifest, plan: LogicalPlan) -> list[str]:
    """The components whose state would be left behind."""
    return [
        name
        for name in sorted(keyed(manifest) | opaque(manifest))
        if _no_place(manifest, plan, name) or _undivided(manifest, plan, name)
    ]


def without(manifest: Manifest, components: Collection[str]) -> Manifest:
    """The checkpoint without the state of some components."""
    tasks = tuple(
        msgspec.structs.replace(task, parts=()) if task.component in components else task
        for task in manifest.tasks
    )
    return msgspec.structs.replace(manifest, tasks=tasks)


def keyed(manifest: Manifest) -> set[str]:
    """Components that have saved key groups, or splits."""
    return {task.component for task in manifest.tasks if any(part.groups for part in task.parts)}


def opaque(manifest: Manifest) -> set[str]:
    """Components whose tasks have each saved a state of their own."""
    return {task.component for task in manifest.tasks if any(part.opaque for part in task.parts)}


def _check_splits(label: str, manifest: Manifest, plan: LogicalPlan) -> None:
    for component, split in _lost_splits(manifest, plan):
        known = plan.component(component).splits
        msg = (
            f"checkpoint {label} has a position in split {split!r} of {component!r}, which topology"
            f" {plan.name!r} does not have{did_you_mean(split, known)}"
        )
        raise UserError(msg, hint="keep all of the old splits and append new ones")


def _lost_splits(manifest: Manifest, plan: LogicalPlan) -> Iterator[tuple[str, str]]:
    for component in plan.components:
        for split in manifest.splits.get(component.name, ()):
            if split not in component.splits:
                yield component.name, split


def _no_place(manifest: Manifest, plan: LogicalPlan, name: str) -> str:
    """Why no component can take over this state; empty if one can."""
    found = next((component for component in plan.components if component.name == name), None)
    if found is None:
        close = did_you_mean(name, plan.parallelism())
        return f"state of {name!r}, which topology {plan.name!r} does not have{close}"
    if name in keyed(manifest) and not found.state_by_keys:
        why = (
            "keeps a state for each task now"
            if found.by_fields
            else "reads nothing by fields grouping any more"
        )
        return f"state by keys of {name!r}, which {why}"
    if name in opaque(manifest) and found.state_by_keys:
        return f"a state for each task of {name!r}, which keeps its state by keys now"
    return reshaped(manifest.shapes.get(name, {}), found.shapes)


def _undivided(manifest: Manifest, plan: LogicalPlan, name: str) -> str:
    """Why state that belongs to tasks cannot be kept with another number of tasks; empty if it can."""
    saved = [task for task in manifest.tasks if task.component == name]
    before, now = len(saved), plan.parallelism()[name]
    own = {
        f"{name}[{task.index}]": sum(part.entries for part in task.parts if part.opaque)
        for task in saved
        if any(part.opaque for part in task.parts)
    }
    ending = [f"{name}[{task.index}]" for task in saved if task.index >= now]
    return not_divisible(plan.component(name), own, ending, more=now > before) if before != now else ""


def _check_parallelism(label: str, manifest: Manifest, plan: LogicalPlan, name: str) -> None:
    reason = _undivided(manifest, plan, name)
    if reason:
        before, now = manifest.parallelism()[name], plan.parallelism()[name]
        msg = f"checkpoint {label} has {before} instances of {name!r} and not {now}: {reason}"
        raise UserError(
            msg, hint=f"set parallelism {before}, or pass {DROP} if that state is no longer needed"
        )
