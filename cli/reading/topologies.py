"""The topologies that exist: their nodes in the state tree, their masters, and where their logs are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import click

from heronpy.cli.views.wait_line import ProgressLine
from heronpy.container.folders import work_folder
from heronpy.container.scheduler import scheduler_host
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, UserError, did_you_mean
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import Registry, StateManager, opening
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import Tree

#: seconds that a Topology Master gets to answer a question
ANSWER_TIMEOUT = 2.0

#: … and that one gets that has just begun, or whose machine is busy
MOMENT = 5.0

#: … and that its successor gets to register, where there is none: on a busy machine a start takes a while
SUCCESSION = 30.0
ASK_EVERY = 0.1


@contextlib.contextmanager
def open_state(config: Config, registry: Registry | None = None) -> Iterator[StateManager]:
    """The state manager that the settings name, closed at the end."""
    state = opening.open_state(config, registry)
    try:
        yield state
    finally:
        state.close()


def names(state: StateManager) -> list[str]:
    return state.children("/")


def require(state: StateManager, name: str) -> str:
    """The name itself, or an error that says which topologies there are."""
    known = names(state)
    if name not in known:
        none = "" if known else f"; there is none in {state.place() or 'the state tree'}"
        msg = f"no topology named {name!r}{none}{did_you_mean(name, known)}"
        raise UserError(msg, hint="heronpy list")
    return name


def require_alive(config: Config, state: StateManager, name: str) -> str:
    """The name itself; a topology without scheduler and master, as after a reboot, is started again."""
    try:
        revived = scheduler_host.revive(config, state, require(state, name))
    except DamagedNode as damage:
        click.echo(f"the scheduler and the master of {name} are gone: {damage.what}", err=True)
    else:
        if revived:
            click.echo(f"the scheduler and the master of {name} were gone and are started again", err=True)
    return name


def settled_status(state: StateManager, name: str) -> TopologyStatus:
    """The master's status; a master that has just started, or is busy, gets more time to answer."""
    begun, progress, told, answered = time.monotonic(), ProgressLine(), False, False
    with MasterClient(state, name) as client:
        while True:
            status = client.status(ANSWER_TIMEOUT)
            if status.state == "STARTING" and not answered:
                # a master that has just registered has no reports of its containers yet: its time begins now
                answered, begun = True, time.monotonic()
            waited = time.monotonic() - begun
            patience = SUCCESSION if _master_to_come(state, name) else MOMENT
            if status.state not in ("UNREACHABLE", "STARTING") or waited > patience:
                progress.clear()
                return status
            if waited > MOMENT and not told:
                told = True
                progress.say(f"waiting for the topology master of {name}: {status.reason}")
            time.sleep(ASK_EVERY)


def _master_to_come(state: StateManager, name: str) -> bool:
    """Whether no Topology Master is registered, and its container has not been given up either."""
    tree = Tree(name)
    return not state.exists(tree.master) and not state.exists(tree.given_up(0))


def log_folder(config: Config, name: str) -> Path:
    return work_folder(config, name) / "logs"


def where_logs_are(config: Config, launch: TopologyLaunch) -> str:
    """A folder; or the command that asks for those on other machines."""
    return f"heronpy logs {launch.topology}" if launch.remote else str(log_folder(config, launch.topology))
