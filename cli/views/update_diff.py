"""An update as people and programs read it: the difference, the phases, the closing ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heronpy.cli.changing.proposal import Proposal
from heronpy.cli.views.output import count, plural
from heronpy.cli.views.plan_view import shown, shown_size
from heronpy.kernel.plans import Component
from heronpy.kernel.plans.group_owners import groups_of
from heronpy.kernel.tree.update import Ledger, Update

#: most labels that are spelt out in a line
NAMED = 6


def diff_lines(proposal: Proposal, max_factor: int) -> list[str]:
    """Instances, containers and key groups that change; what stays; the largest possible parallelism."""
    names = proposal.affected
    width = max((len(name) for name in [*names, "containers"]), default=0)
    lines = [f"{name:<{width}}  {_component_line(proposal, name)}" for name in names]
    lines.append(f"{'containers':<{width}}  {_container_line(proposal)}")
    others = [each.name for each in proposal.current.logical.components if each.name not in names]
    if others:
        lines.append(f"{'others':<{width}}  unchanged, not restarted: {', '.join(others)}")
    limits = [_limit(proposal, name, max_factor) for name in names]
    if limits:
        lines.append(f"{'limits':<{width}}  {'; '.join(limits)}")
    return lines


def diff_json(proposal: Proposal) -> dict[str, Any]:
    """The same for programs."""
    moved = proposal.moves
    before, after = ({each.id for each in plan.containers} for plan in (proposal.before, proposal.after))
    return {
        "topology": proposal.current.topology,
        "epoch": {"before": proposal.current.epoch, "after": proposal.proposed.epoch},
        "components": {
            name: {
                "before": len(proposal.current.tasks_of(name)),
                "after": len(proposal.proposed.tasks_of(name)),
                "new": [task.label for task in proposal.new_tasks(name)],
                "retiring": [task.label for task in proposal.retiring(name)],
                "groups": len(proposal.proposed.key_groups.get(name, ())),
                "moves": {str(group): list(pair) for group, pair in moved.get(name, {}).items()},
            }
            for name in proposal.affected
        },
        "unchanged": [
            each.name for each in proposal.current.logical.components if each.name not in proposal.affected
        ],
        "containers": {"new": sorted(after - before), "ending": sorted(before - after)},
    }


def packing_line(proposal: Proposal) -> str:
    """What the repack came to."""
    new = [task for name in proposal.affected for task in proposal.new_tasks(name)]
    gone = [task for name in proposal.affected for task in proposal.retiring(name)]
    parts = [f"keeps {plural(len(proposal.proposed.tasks) - len(new), 'instance')} in place"]
    if new:
        where = sorted({task.container for task in new})
        parts.append(f"adds {_named([t.label for t in new])} in container {', '.join(map(str, where))}")
    if gone:
        parts.append(f"retires {_named([task.label for task in gone])}")
    return ", ".join(parts)


def ledger_line(ledger: Ledger) -> str:
    """What it cost."""
    moved = f"{ledger.groups_moved}/{ledger.groups} key groups" if ledger.groups else "no key groups"
    return (
        f"{plural(ledger.lost, 'tuple')} lost   pause {ledger.pause_seconds * 1000:.0f} ms"
        f"   moved {moved}, {shown_size(ledger.bytes_moved)}"
    )


def rate_line(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """count 81.0k/s → 152.0k/s; nothing for what stood still before and after."""
    rates = [
        f"{name} {count(before.get(name, 0.0))}/s → {count(rate)}/s"
        for name, rate in after.items()
        if rate or before.get(name)
    ]
    return "   ".join(rates)


def outcome_json(update: Update, before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
    """How it ended, for programs."""
    return {
        "topology": update.packing.topology,
        "kind": update.kind,
        "phase": update.phase,
        "epoch": update.epoch,
        "wanted": update.wanted,
        "containers": list(update.containers),
        "reason": update.reason,
        "ledger": update.ledger,
        "rates": {name: {"before": before.get(name, 0.0), "after": rate} for name, rate in after.items()},
    }


def _component_line(proposal: Proposal, name: str) -> str:
    before, after = (len(plan.tasks_of(name)) for plan in (proposal.current, proposal.proposed))
    parts = [f"{before} → {after} instances" if before != after else plural(after, "instance")]
    new, gone = proposal.new_tasks(name), proposal.retiring(name)
    if new:
        parts.append(f"+ {_named([task.label for task in new])}")
    if gone:
        parts.append(f"- {_named([task.label for task in gone])}")
    groups = len(proposal.current.key_groups.get(name, ()))
    if groups:
        what = "splits" if _component(proposal, name).kind == "spout" else "key groups"
        parts.append(f"{what} moved {len(proposal.moves.get(name, {}))}/{groups}")
    return "   ".join(parts)


def _container_line(proposal: Proposal) -> str:
    before = {each.id: each for each in proposal.before.containers}
    after = {each.id: each for each in proposal.after.containers}
    parts = [f"{len(before)} → {len(after)}" if len(before) != len(after) else f"{len(after)} as before"]
    for each in sorted(after.keys() - before.keys()):
        size = shown(after[each].resources)
        parts.append(f"+ container {each} ({size.cpu} cpu, {size.ram})")
    parts += [f"- container {each}" for each in sorted(before.keys() - after.keys())]
    return "   ".join(parts)


def _limit(proposal: Proposal, name: str, max_factor: int) -> str:
    component = _component(proposal, name)
    groups = groups_of(proposal.current.logical, component)
    most = component.parallelism * max_factor
    if not groups:
        return f"{name} {most} in one step without --yes"
    what = "splits" if component.kind == "spout" else "key groups"
    return f"{name} {groups} ({what}), {min(most, groups)} in one step without --yes"


def _component(proposal: Proposal, name: str) -> Component:
    return proposal.current.logical.component(name)


def _named(labels: list[str]) -> str:
    more = len(labels) - NAMED
    return " ".join(labels[:NAMED]) + (f" and {more} more" if more > 0 else "")
