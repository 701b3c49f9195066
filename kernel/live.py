"""Changes to the node `live`: whether spouts run, and config that is given while the topology runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from heronpy.kernel.errors import NodeMissing, VersionConflict
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree import RUNNING, Live, Tree

#: in Live.config, what concerns every component
WHOLE_TOPOLOGY = ""


def change_live(state: StateManager, topology: str, change: Callable[[Live], Live]) -> Live:
    """Apply a change to whatever is there, by compare-and-set; its number is raised."""
    path = Tree(topology).live
    while True:
        try:
            node = state.get(path)
            before, version = msgspec.json.decode(node.value, type=Live), node.version
        except NodeMissing:
            before, version = Live(RUNNING), None
        after = msgspec.structs.replace(change(before), number=before.number + 1)
        try:
            state.set(path, msgspec.json.encode(after), version=version)
        except (VersionConflict, NodeMissing):
            continue
        return after


def with_runtime_config(live: Live, given: Mapping[str, Mapping[str, Any]]) -> Live:
    """What was given before stays, unless it is given anew."""
    config = {where: {**live.config.get(where, {}), **values} for where, values in given.items()}
    return msgspec.structs.replace(live, config={**live.config, **config})


def config_for(live_config: Mapping[str, Mapping[str, Any]], component: str) -> dict[str, Any]:
    """What has been given for a component, that of the whole topology below it."""
    return {**live_config.get(WHOLE_TOPOLOGY, {}), **live_config.get(component, {})}


def in_effect(plan: LogicalPlan, live: Live | None) -> LogicalPlan:
    """The plan with the topology's config as it is now."""
    given = live.config.get(WHOLE_TOPOLOGY, {}) if live is not None else {}
    return msgspec.structs.replace(plan, config={**plan.config, **given}) if given else plan
