"""Proposing an update through the state tree, and following it there until it is over."""

from __future__ import annotations

import threading
import time

from heronpy.cli.changing.proposal import InForce
from heronpy.cli.changing.update_checks import refuse_second, unfinished
from heronpy.cli.reading.topologies import ANSWER_TIMEOUT
from heronpy.cli.views.update_phases import Phases
from heronpy.kernel.errors import NodeExists, NodeMissing, StateError, TimedOut, UserError, VersionConflict
from heronpy.kernel.master.client import topology_status
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import needed
from heronpy.kernel.tree.update import CLOSED, Update

#: phases that may each take the whole timeout, and a moment for the rest
PHASES = 6
MOMENT = 10.0
#: without progress for so long, the master is asked which tasks it waits for
LINGER = 2.0


def write_proposal(state: StateManager, now: InForce, update: Update) -> None:
    """By compare-and-set on the node that was read: of two proposals at once, one is refused."""
    path = Tree(now.topology).update
    try:
        if now.version is None:
            state.create(path, update.to_json())
        else:
            state.set(path, update.to_json(), version=now.version)
    except (NodeExists, VersionConflict, NodeMissing):
        raise _somebody_else(state, now.topology) from None


def _somebody_else(state: StateManager, name: str) -> UserError:
    try:
        running = unfinished(needed(state, Tree(name).update, Update))
    except NodeMissing:
        return UserError(f"topology {name!r} was killed in the meantime", hint="heronpy list")
    if running is not None:
        return refuse_second(name, running)
    msg = f"another command changed {name} at the same time"
    return UserError(msg, hint="run the command again")


def follow(state: StateManager, name: str, epoch: int, *, timeout: float, phases: Phases) -> Update:
    """Wait until the update with this epoch is over, showing its phase and the tasks it waits for."""
    path = Tree(name).update
    changed = threading.Event()
    deadline = time.monotonic() + PHASES * timeout + MOMENT
    watch = state.watch(path, changed.set)
    try:
        while True:
            changed.clear()
            update = _read(state, path, name)
            if update.epoch != epoch:
                msg = f"the update to plan {epoch} is over, and another one has begun since"
                raise UserError(msg, hint=f"heronpy status {name}")
            phases.see(update, time.monotonic())
            if update.phase in CLOSED:
                return update
            while not changed.wait(LINGER):
                if time.monotonic() > deadline:
                    msg = f"the update of {name} is still in phase {update.phase}; it goes on"
                    raise TimedOut(msg, hint=f"heronpy status {name}")
                phases.wait_for(_waits_for(state, name, epoch))
    finally:
        watch.cancel()


def _waits_for(state: StateManager, name: str, epoch: int) -> tuple[str, ...]:
    try:
        update = topology_status(state, name, ANSWER_TIMEOUT).update
    except StateError:
        return ()  # the update continues without this command, which sees it when the tree can be read again
    return update.waits_for if update is not None and update.epoch == epoch else ()


def _read(state: StateManager, path: str, name: str) -> Update:
    try:
        return needed(state, path, Update)
    except NodeMissing:
        msg = f"topology {name!r} was killed while it was updated"
        raise UserError(msg, hint="heronpy list") from None
