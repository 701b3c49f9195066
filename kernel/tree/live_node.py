"""Changes to the node `live`: whether spouts run, and config that is given while the topology runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from heronpy.kernel.errors import DamagedNode, NodeMissing, VersionConflict
from heronpy.kernel.formats import NODE
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree.mending import mend
from heronpy.kernel.tree.paths import RUNNING, Live, Tree
from heronpy.kernel.tree.registrations import read_version

#: in Live.config, what concerns every component
WHOLE_TOPOLOGY = ""

#: number of the first write after damage: tasks only compare it with the number they know
AFTER_DAMAGE: Final = 1 << 32


def change_live(state: StateManager, topology: str, change: Callable[[Live], Live]) -> Live:
    """Apply a change to whatever is there, by compare-and-set; its number is raised."""
    path = Tree(topology).live
    while True:
        try:
            before, version = read_version(state, path, Live) or (Live(RUNNING), None)
            after = msgspec.structs.replace(change(before), number=before.number + 1)
            state.set(path, NODE.encode(after), version=version)
        except DamagedNode as damage:
            # this change decides the state; config of earlier changes is lost and has to be given again
            after = msgspec.structs.replace(change(Live(RUNNING)), number=AFTER_DAMAGE)
            with contextlib.suppress(VersionConflict):
                mend(state, damage, NODE.encode(after))
                return after
            continue
        except (VersionConflict, NodeMissing):
            continue
        return after


def with_runtime_config(live: Live, given: Mapping[str, Mapping[str, Any]]) -> Live:
    """Earlier values stay unless they are given again."""
    config = {where: {**live.config.get(where, {}), **values} for where, values in given.items()}
    return msgspec.structs.replace(live, config={**live.config, **config})


def config_for(live_config: Mapping[str, Mapping[str, Any]], component: str) -> dict[str, Any]:
    """The config of one component; it overrides what was given for the whole topology."""
    return {**live_config.get(WHOLE_TOPOLOGY, {}), **live_config.get(component, {})}


def in_effect(plan: LogicalPlan, live: Live | None) -> LogicalPlan:
    """The plan with the topology's config as it is now."""
    given = live.config.get(WHOLE_TOPOLOGY, {}) if live is not None else {}
    return msgspec.structs.replace(plan, config={**plan.config, **given}) if given else plan
