"""The topologies that exist: reading the state tree, and where their things are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import click

from heronpy.container import scheduler_host
from heronpy.container.folders import work_folder
from heronpy.container.launch import TopologyLaunch
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin import Registry, StateManager, opening
from heronpy.kernel.status import TopologyStatus

#: seconds that a Topology Master gets to answer a question
ANSWER_TIMEOUT = 2.0

#: … and that one gets that has just begun, or whose machine is busy
MOMENT = 5.0
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
        none = "" if known else "; there is none"
        msg = f"no topology named {name!r}{none}{did_you_mean(name, known)}"
        raise UserError(msg, hint="heronpy list")
    return name


def require_alive(config: Config, state: StateManager, name: str) -> str:
    """The name itself; a topology that nobody keeps alive any more, as after a reboot, is started again."""
    if scheduler_host.revive(config, state, require(state, name)):
        click.echo(f"the scheduler and the master of {name} were gone and are started again", err=True)
    return name


def settled_status(state: StateManager, name: str) -> TopologyStatus:
    """What the master says. One that was just started, or is kept from answering, gets a moment."""
    deadline = time.monotonic() + MOMENT
    with MasterClient(state, name) as client:
        while True:
            status = client.status(ANSWER_TIMEOUT)
            if status.state not in ("UNREACHABLE", "STARTING") or time.monotonic() > deadline:
                return status
            time.sleep(ASK_EVERY)


def log_folder(config: Config, name: str) -> Path:
    return work_folder(config, name) / "logs"


def where_logs_are(config: Config, launch: TopologyLaunch) -> str:
    """A folder; or the command that asks for those on other machines."""
    return f"heronpy logs {launch.topology}" if launch.remote else str(log_folder(config, launch.topology))
