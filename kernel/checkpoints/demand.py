"""A checkpoint at once: a command requests it through the state tree, the Topology Master takes it."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config.units import format_duration
from heronpy.kernel.errors import StateError, TimedOut, UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin.state_manager import StateManager, Watch
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.request_nodes import RequestNode, answer_request, answer_to, unanswered


class Demand(RequestNode, frozen=True, kw_only=True):
    """Value of /NAME/demands/ID. The master removes the node when a checkpoint begun after it is complete.

    If that checkpoint is given up, the master writes the reason into the node, and the command removes it.
    """


def pending_demands(state: StateManager, topology: str) -> list[str]:
    """For the master: the paths of the demands to be answered."""
    return [path for path, _ in unanswered(state, Tree(topology).demands, Demand)]


def answer_demand(state: StateManager, path: str, error: str = "") -> None:
    """For the master, when the checkpoint is in the state tree, or with the reason why there is none."""
    answer_request(state, path, Demand(), error)


def take_checkpoint(
    state: StateManager, topology: str, *, timeout: float, progress: Callable[[str], None] = lambda _: None
) -> CheckpointRef:
    """Request a checkpoint and wait until it is complete; `progress` gets what is waited for."""
    tree = Tree(topology)
    path = f"{tree.demands}/{secrets.token_hex(8)}"
    changed = threading.Event()
    deadline = time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        for each in (path, tree.checkpoints, tree.master):
            _watch(stack, state.watch(each, changed.set))
        before = newest_complete(state, topology)
        # also on Ctrl-C
        stack.callback(_take_back, state, tree, path)
        state.create(path, NODE.encode(Demand()))
        while True:
            changed.clear()
            if _answered(state, path):
                return _taken(state, topology, before)
            if newest_complete(state, topology) == before:
                progress(_waiting_for(state, topology))
            if not changed.wait(max(0.0, deadline - time.monotonic())):
                last = _waiting_for(state, topology)
                msg = f"no checkpoint of {topology!r} in {format_duration(timeout)}: {last}"
                raise TimedOut(msg, hint=f"heronpy status {topology}")


def newest_complete(state: StateManager, topology: str) -> CheckpointRef | None:
    node = read(state, Tree(topology).checkpoints, Checkpoints)
    return node.complete[-1] if node is not None and node.complete else None


def being_taken(node: Checkpoints) -> int:
    """Number of the checkpoint that is on its way, 0 for none."""
    over = max(node.aborted, node.complete[-1].id if node.complete else 0)
    return node.started if node.started > over else 0


def _take_back(state: StateManager, tree: Tree, path: str) -> None:
    state.delete(path)
    if not state.exists(tree.execution):
        # killed meanwhile: the folder of demands must not be all that is left of it
        with contextlib.suppress(StateError):
            state.delete(tree.demands)
            state.delete(tree.root)


def _watch(stack: contextlib.ExitStack, watch: Watch) -> None:
    stack.callback(watch.cancel)


def _answered(state: StateManager, path: str) -> bool:
    error = answer_to(state, path, Demand)
    if error:
        msg = f"no checkpoint was taken: {error}"
        raise UserError(msg)
    return error is not None


def _taken(state: StateManager, topology: str, before: CheckpointRef | None) -> CheckpointRef:
    found = newest_complete(state, topology)
    if found is None or found == before:
        msg = f"topology {topology!r} was killed meanwhile"
        raise UserError(msg, hint="heronpy list")
    return found


def _waiting_for(state: StateManager, topology: str) -> str:
    node = read(state, Tree(topology).checkpoints, Checkpoints)
    if node is not None and being_taken(node):
        return f"checkpoint {being_taken(node)} is being taken"
    if not state.exists(Tree(topology).master):
        return "waiting for the topology master"
    return "waiting for the topology master to begin"
