"""Updates that are refused, and updates that need --yes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from heronpy.cli.changing.proposal import Proposal
from heronpy.cli.views.output import elapsed, plural
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UsageError, UserError, did_you_mean
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plans.group_owners import groups_of
from heronpy.kernel.state_transfer import objections
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.update import CLOSED, Update


def parse_targets(name: str, targets: Sequence[str], logical: LogicalPlan) -> dict[str, int]:
    """["count=4"] → {"count": 4}; an error for an unknown component or a wrong number."""
    known = logical.parallelism()
    wanted: dict[str, int] = {}
    for target in targets:
        component, equals, text = target.partition("=")
        if not equals:
            msg = f"{target!r} has no number of instances"
            raise UsageError(msg, hint=f"heronpy update {name} {component}=4")
        if component not in known:
            msg = f"no component {component!r} in {name}{did_you_mean(component, known)}"
            if "known:" not in msg:
                msg += f" (components: {', '.join(known)})"
            raise UserError(msg)
        if component in wanted:
            msg = f"{component!r} is given twice"
            raise UsageError(msg, hint="name each component once")
        wanted[component] = _count(component, text)
    return wanted


def _count(component: str, text: str) -> int:
    if not text.removeprefix("-").isdecimal():
        msg = f"{component}={text}: {text!r} is not a number of instances"
        raise UsageError(msg, hint=f"{component}=4, for four instances in all")
    count = int(text)
    if count < 1:
        msg = f"{component}={text}: a component keeps at least one instance"
        raise UsageError(msg, hint=f"{component}=1, or heronpy deactivate to pause the topology")
    return count


def unfinished(last: Update | None) -> Update | None:
    return last if last is not None and last.phase not in CLOSED else None


def refuse_second(name: str, running: Update, now: float | None = None) -> UserError:
    """The refusal of a second update: who asked for the one that runs, how long ago, and its phase."""
    since = elapsed((time.time() if now is None else now) - running.requested_at)
    what = (
        f"a restart of {_containers(running)}"
        if running.kind == "restart"
        else f"an update to {shown(running.wanted)}"
    )
    who = running.requested_by or "an unknown user"
    msg = f"{what} by {who} has been running in {name} for {since} (phase {running.phase})"
    return UserError(msg, hint=f"heronpy status {name}, then retry when it is over")


def shown(wanted: Mapping[str, int]) -> str:
    return " ".join(f"{component}={count}" for component, count in wanted.items())


def refuse_impossible(logical: LogicalPlan, wanted: Mapping[str, int]) -> None:
    """Raise for an update that cannot be done even with --yes."""
    for name, count in wanted.items():
        component = logical.component(name)
        groups = groups_of(logical, component)
        if groups and count > groups:
            what = "splits" if component.kind == "spout" else "key groups"
            msg = f"{name}={count}: there are only {groups} {what} to share, fixed at submit"
            raise UserError(msg, hint=f"use at most {name}={groups}")
        if component.kind == "spout" and not component.splits and logical.reliability == "effectively_once":
            msg = f"spout {name!r} declares no splits, so its position cannot be handed over effectively once"
            raise UserError(msg, hint="declare splits in its class, see docs/scaling.md")


def doubts(
    config: Config, proposal: Proposal, wanted: Mapping[str, int], status: TopologyStatus
) -> list[str]:
    """Reasons why the update may be a mistake: it is done only with --yes."""
    found = []
    logical = proposal.current.logical
    factor, most = config.integer("update.max_factor"), config.integer("update.max_instances")
    for name, count in wanted.items():
        component = logical.component(name)
        if count > component.parallelism * factor:
            found.append(
                f"{name}={count} is more than {factor} times the {component.parallelism} there are"
                f" (update.max_factor): {name}={component.parallelism * factor} needs no --yes"
            )
        if component.kind == "spout" and not component.splits:
            stays = "what its tasks have read stays with each of them"
            found.append(f"spout {component.name!r} declares no splits: {stays}")
    total = sum({**logical.parallelism(), **wanted}.values())
    if total > most:
        found.append(f"that makes {plural(total, 'instance')}, more than {most} (update.max_instances)")
    held = {one.task: one.held for one in status.instances}
    return found + objections(proposal.current, proposal.proposed, held)


def _containers(update: Update) -> str:
    return f"containers {', '.join(map(str, update.containers))}"
