"""Whether a topology is still the one that a process was started for."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable

from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, VersionConflict
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.mending import MEND_EVERY, mend
from heronpy.kernel.tree.paths import Execution, Tree
from heronpy.kernel.tree.registrations import read_version

log = logging.getLogger(__name__)

#: seconds for a process that holds the node to write it again
PATIENCE = int(2 * MEND_EVERY)


def read_execution(state: StateManager, topology: str, *, any_format: bool = False) -> Execution | None:
    """None when there is no such topology, or its submit failed before it was written; or DamagedNode.

    `any_format` is for what ends a topology: as far as it can be read, whichever version wrote it.
    """
    found = read_version(state, Tree(topology).execution, Execution, any_format=any_format)
    return found[0] if found is not None else None


def known_execution(state: StateManager, topology: str) -> Execution | None:
    """As read_execution() of any format, but None with a warning for a damaged node."""
    try:
        return read_execution(state, topology, any_format=True)
    except DamagedNode as damage:
        log.warning("%s", damage)
        return None


def is_current(state: StateManager, launch: TopologyLaunch) -> bool:
    """False once the topology was killed, also when one of its name was submitted since; or DamagedNode."""
    found = read_execution(state, launch.topology, any_format=True)
    return found is not None and found.id == launch.execution


def await_execution(
    state: StateManager, launch: TopologyLaunch, pause: Callable[[float], None] = time.sleep
) -> None:
    """Return when the node can be read, or is missing.

    A process that holds it writes it again. Where none has done so for a while, it is written from the launch
    file, but not where a process of an earlier execution may be left on another machine.
    """
    tries = 0
    while True:
        try:
            read_execution(state, launch.topology)
            return
        except DamagedNode as damage:
            tries += 1
            if tries == 1:
                log.error("waiting until it can be read: %s", damage)
            if tries > PATIENCE and not state.shared:
                with contextlib.suppress(VersionConflict):
                    mend(state, damage, NODE.encode(execution_of(launch)))
                log.error("%s was written again from the launch file", damage.path)
                return
        pause(1.0)


def execution_of(launch: TopologyLaunch) -> Execution:
    """The execution as the launch file has it: without user, time and version of the submit."""
    config = Config.from_plain(launch.config)
    return Execution(
        id=launch.execution,
        submitted_by="",
        submitted_at=0.0,
        version="",
        packing=config.text("packing.algorithm"),
        scheduler=config.text("scheduler.name"),
        state=config.text("state.manager"),
        apart=launch.remote and not config.text("checkpoint.path"),
    )
