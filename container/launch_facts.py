"""What is known of how a topology was launched, also where its launch file cannot be read."""

from __future__ import annotations

import logging
import os

from heronpy.container.execution import known_execution
from heronpy.container.folders import launch_file, sockets_link, work_folder
from heronpy.kernel.config import Config
from heronpy.kernel.errors import OtherFormat
from heronpy.kernel.launch import Keeper, LaunchDamaged, TopologyLaunch
from heronpy.kernel.plugin import Scheduler, StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.tree.paths import Tree

log = logging.getLogger(__name__)


def keeper_of(scheduler: type[Scheduler], *, remote: bool) -> Keeper:
    """Container 0 cannot start a process on this machine from another one."""
    return "beside" if remote and scheduler.keeper == "master" else scheduler.keeper


def launch_of(config: Config, state: StateManager, topology: str) -> TopologyLaunch | None:
    """The launch file; rebuilt with a warning if it cannot be read, None if this machine has none."""
    try:
        return TopologyLaunch.read(launch_file(config, topology))
    except FileNotFoundError:
        return None
    except LaunchDamaged as error:
        log.warning("%s; continuing with the state tree and the settings of this command", error.what)
    except OtherFormat as error:
        log.warning("%s; continuing with the state tree and the settings of this command", error)
    return _rebuilt(config, state, topology)


def _rebuilt(config: Config, state: StateManager, topology: str) -> TopologyLaunch:
    """Without an execution in the state tree its id is empty: then nothing that is named by it is known."""
    execution = known_execution(state, topology)
    name = execution.scheduler if execution is not None else config.text("scheduler.name")
    scheduler = installed().scheduler(name)
    # what was shipped is written before a container starts on another machine
    remote = state.exists(Tree(topology).shipped)
    work = work_folder(config, topology)
    try:
        sockets = os.readlink(sockets_link(work))
    except OSError:
        sockets = ""
    return TopologyLaunch(
        topology,
        execution.id if execution is not None else "",
        config.to_plain(),
        str(work),
        sockets,
        remote,
        keeper=keeper_of(scheduler, remote=remote),
    )
