"""heronpy checkpoints NAME --restore ID: chooses the checkpoint that a stopped topology restores."""

from __future__ import annotations

import threading
import time

import click

from heronpy.cli.reading.topologies import settled_status
from heronpy.cli.requester import requester
from heronpy.cli.views.output import plural
from heronpy.kernel.checkpoints.decision import Decision
from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config.units import format_duration
from heronpy.kernel.errors import TimedOut, UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin import CheckpointStore, StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import needed


def go_back(
    state: StateManager,
    store: CheckpointStore,
    name: str,
    checkpoint: int,
    *,
    accept_repeats: bool,
    timeout: float,
) -> None:
    """Ask the Topology Master to restore this checkpoint, and wait until it has."""
    node = needed(state, Tree(name).checkpoints, Checkpoints)
    _require_standing_still(state, name)
    _require_whole(store, name, node, checkpoint)
    newer = [ref for ref in node.complete if ref.id > checkpoint]
    repeated = plural(sum(ref.transactions for ref in newer), "transaction")
    lost = ", ".join(str(ref.id) for ref in newer)
    what = f"{repeated} committed with checkpoint {lost}" if newer else "nothing"
    if newer and not accept_repeats:
        msg = f"going back to checkpoint {checkpoint} of {name} repeats {what}"
        raise UserError(msg, hint=f"heronpy checkpoints {name} --restore {checkpoint} --accept-repeats")
    click.echo(f"{name} goes back to checkpoint {checkpoint} and repeats {what}")
    _decide(state, name, Decision(checkpoint, requester()), timeout)


def _require_standing_still(state: StateManager, name: str) -> None:
    status = settled_status(state, name)
    if status.checkpoints is None or not status.checkpoints.undecided:
        msg = f"topology {name!r} is not waiting for a decision: it restores by itself"
        raise UserError(msg, hint=f"heronpy status {name}")


def _require_whole(store: CheckpointStore, name: str, node: Checkpoints, checkpoint: int) -> None:
    ref = next((ref for ref in node.complete if ref.id == checkpoint), None)
    if ref is None:
        known = ", ".join(str(ref.id) for ref in node.complete)
        msg = f"topology {name!r} has no checkpoint {checkpoint} (known: {known or 'none'})"
        raise UserError(msg, hint=f"heronpy checkpoints {name}")
    for part in read_manifest(store, ref).parts().values():
        read_part(store, part)


def _decide(state: StateManager, name: str, decision: Decision, timeout: float) -> None:
    path = Tree(name).restore
    changed = threading.Event()
    deadline = time.monotonic() + timeout
    watch = state.watch(path, changed.set)
    try:
        state.set(path, NODE.encode(decision))
        while state.exists(path):
            if not changed.wait(max(0.0, deadline - time.monotonic())):
                state.delete(path)
                began = f"begun with checkpoint {decision.checkpoint} in {format_duration(timeout)}"
                msg = f"{name} has not {began}"
                raise TimedOut(msg, hint=f"heronpy status {name}")
            changed.clear()
    finally:
        watch.cancel()
