"""Every node of a topology that can be damaged: which process writes it again, and what to do if none does.

What each reader does with a node that is there, missing or damaged is in docs/damage.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from heronpy.kernel.checkpoints.decision import Decision
from heronpy.kernel.checkpoints.demand import Demand
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import DamagedNode, NodeMissing
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan
from heronpy.kernel.plugin import Shipped
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree.paths import Execution, ExecutorNode, Live, Registration, Tree
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.requests import Request
from heronpy.kernel.tree.update import Update, UpdateFailure

_BACKUP: Final = (
    "put it back from a backup, or heronpy kill {name} --keep-checkpoints and submit it again --from {name}"
)


class NodeKind(NamedTuple):
    """One kind of node."""

    name: str
    #: what it holds; None where only its being there counts
    kind: Any
    #: what comes of it, as a sentence
    mended: str
    #: what to do if that does not happen; empty where nothing depends on it
    otherwise: str = ""


#: nodes that other processes rely on: a damaged one must never be treated as missing
TRUTH: Final = (
    NodeKind("execution", Execution, "any process of the topology writes it again", _BACKUP),
    NodeKind("definition", LogicalPlan, "the topology master or an executor writes it again", _BACKUP),
    NodeKind(
        "packing_plan",
        PackingPlan,
        "the topology master, an executor or the scheduler's process writes it again",
        _BACKUP,
    ),
    NodeKind("physical_plan", PhysicalPlan, "the topology master writes it again", _BACKUP),
    NodeKind("next_plan", PhysicalPlan, "the topology master writes it again"),
    NodeKind(
        "checkpoints",
        Checkpoints,
        "the topology master writes it again, from the checkpoint store if it has to",
        _BACKUP,
    ),
    NodeKind("update", Update, "the topology master writes it again", _BACKUP),
    NodeKind(
        "live",
        Live,
        "the topology master or a stream manager writes it again",
        "heronpy activate {name}, or heronpy deactivate {name}",
    ),
    NodeKind("shipped", tuple[Shipped, ...], "no process writes it again", _BACKUP),
    NodeKind("leaving", None, "only its existence counts"),
)

#: what a process publishes about itself, or requests
REPORTS: Final = (
    NodeKind("master", Registration, "the topology master writes it again"),
    NodeKind("scheduler", None, "the scheduler's process writes it again"),
    NodeKind("keeper", None, "the keeper writes it again"),
    NodeKind("scheduler_pulse", None, "the scheduler's process writes it again"),
    NodeKind("waiting", dict[str, str], "the scheduler's process writes it again"),
    NodeKind(
        "update_failure", UpdateFailure, "it is treated as missing, and the update goes on or times out"
    ),
    NodeKind("restore", Decision, "it is treated as missing", "give the decision again"),
)

#: the same, one for each container
OF_CONTAINERS: Final = (
    NodeKind("stream_manager", Registration, "the stream manager writes it again"),
    NodeKind("metrics_manager", Registration, "the metrics manager writes it again"),
    NodeKind("executor", ExecutorNode, "the executor writes it again"),
    NodeKind("pulse", None, "the executor writes it again"),
    NodeKind("given_up", None, "only its existence counts"),
)

#: the same, one for each command that waits
OF_COMMANDS: Final = (
    NodeKind("clients", Registration, "the command sends its request again"),
    NodeKind("requests", Request, "it is removed, and the command does the work itself or reports an error"),
    NodeKind("demands", Demand, "it is removed, and the command reports that no checkpoint was taken"),
)


def damaged_nodes(state: StateManager, topology: str) -> list[str]:
    """A line for each damaged node of a topology, with what becomes of it; reads all of them."""
    return [_line(topology, where, kind, damage) for where, kind, damage in _damages(state, Tree(topology))]


def _damages(state: StateManager, tree: Tree) -> Iterator[tuple[str, NodeKind, DamagedNode]]:
    for where, path, kind in _nodes(state, tree):
        try:
            if kind.kind is not None:
                read(state, path, kind.kind)
            else:
                with contextlib.suppress(NodeMissing):
                    state.get(path)
        except DamagedNode as damage:
            yield where, kind, damage


def _nodes(state: StateManager, tree: Tree) -> Iterator[tuple[str, str, NodeKind]]:
    for kind in (*TRUTH, *REPORTS):
        yield kind.name, f"{tree.root}/{kind.name}", kind
    for container in state.children(tree.containers):
        for kind in OF_CONTAINERS:
            yield f"{kind.name} of container {container}", f"{tree.containers}/{container}/{kind.name}", kind
    for kind in OF_COMMANDS:
        for name in state.children(f"{tree.root}/{kind.name}"):
            yield f"{kind.name}/{name}", f"{tree.root}/{kind.name}/{name}", kind


def _line(topology: str, where: str, kind: NodeKind, damage: DamagedNode) -> str:
    otherwise = f"; if it stays so: {kind.otherwise.format(name=topology)}" if kind.otherwise else ""
    return f"damaged  {where} in the state tree ({damage.why}): {kind.mended}{otherwise}"
