"""Each reader of each node of the state tree, called with the node there, missing or damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from support.tasks.puppets import TREE, packing, submitted

from heronpy.container.execution import is_current, known_execution
from heronpy.container.executor.executor_node import ExecutorRecord
from heronpy.container.kept_checkpoints import _keeps_objects, _node
from heronpy.container.remote.uploads import uploads_of
from heronpy.container.scheduler.scheduler_handle import SchedulerNode, SchedulerProcess
from heronpy.container.teardown import _plan
from heronpy.kernel.checkpoints.decision import Decision
from heronpy.kernel.checkpoints.demand import Demand, newest_complete, pending_demands
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeMissing
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.liveness.heartbeat_node import HeartbeatReader
from heronpy.kernel.master.client import unreachable
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan, physical_plan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.live_node import change_live
from heronpy.kernel.tree.paths import PAUSED, RUNNING, ExecutorNode, Live, Registration, Waiting
from heronpy.kernel.tree.registrations import (
    client_keys,
    given_up,
    needed,
    read,
    register,
    reported,
    stay_registered,
)
from heronpy.kernel.tree.requests import Request, pending_requests
from heronpy.kernel.tree.update import Update, UpdateFailure

DOCUMENT = Path(__file__).parents[3] / "docs" / "damage.md"
OUTCOMES = ("there", "missing", "damaged")


class Row(NamedTuple):
    """A line of the document: what comes of each outcome of a read."""

    node: str
    reader: str
    there: str
    missing: str
    damaged: str


def rows() -> list[Row]:
    """As the document has them: in each cell what is in its first backticks, in the first the name."""
    table = DOCUMENT.read_text().partition("## Every reader of every node")[2]
    found = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and "`" in cells[1]:
            found.append(Row(cells[0], *(cell.split("`")[1] for cell in cells[1:])))
    return found


class Stand(NamedTuple):
    """Where a reader reads."""

    state: StateManager
    config: Config

    @property
    def launch(self) -> TopologyLaunch:
        return TopologyLaunch("words", "execution", self.config.to_plain(), str(self.config.home), "")

    def master_state(self) -> MasterState:
        return MasterState(self.state, TREE, 5, self.config)


class Probe(NamedTuple):
    path: str
    whole: bytes
    read: Callable[[Stand], object]


REGISTRATION = Registration("key", 1)
REF = CheckpointRef(1, "m", "c")


def _named(read_it: Callable[[Stand], object]) -> Callable[[Stand], str]:
    """The name of the type of what a reader gives."""

    def call(stand: Stand) -> str:
        found = read_it(stand)
        return "None" if found is None else type(found).__name__

    return call


def _reads(path: str, kind: Any, how: Any) -> Callable[[Stand], str]:
    return _named(lambda stand: how(stand.state, path, kind))


def _written_coming(stand: Stand) -> str:
    master_state = stand.master_state()
    master_state.write_coming(master_state.plan)
    return "written" if read(stand.state, TREE.next_plan, PhysicalPlan) == master_state.plan else "not"


def _taken_over(stand: Stand) -> str:
    master_state = stand.master_state()
    master_state.take_over_checkpoints()
    return "unreadable" if master_state.unreadable is not None else "owned"


def _update_taken_over(stand: Stand) -> str:
    master_state = stand.master_state()
    master_state.take_over()
    return master_state.update.value.phase if master_state.update.value is not None else "None"


def _incarnation(stand: Stand) -> str:
    found = ExecutorRecord(stand.state, "words", 1).incarnation
    return str(found) if found <= 2 else "beyond"


def _pulse(stand: Stand) -> str:
    reader = HeartbeatReader(stand.state, 8.0)
    path = TREE.pulse(1)
    reader._versions[path] = -1  # it was heard before
    reader.detector.hear(path)
    reader.look(1.0, [path])
    if path not in reader._versions:
        return "forgotten"
    return "nothing" if reader._versions[path] == -1 else "heard"


def _paused(live: Live) -> Live:
    return msgspec.structs.replace(live, state=PAUSED)


def _json(value: object) -> bytes:
    return msgspec.json.encode(value)


_PACKING = packing(2, 3)
_UPDATE = Update(number=3, epoch=1, phase="done", packing=_PACKING)


def probes(state: StateManager) -> Mapping[tuple[str, str], Probe]:
    """(node, reader) → how it is read; the state tree has what a submit leaves there."""
    submitted(state, "effectively_once")
    execution = state.get(TREE.execution).value
    definition, placed = state.get(TREE.definition).value, state.get(TREE.packing_plan).value
    plan = physical_plan(LogicalPlan.from_json(definition), _PACKING).to_json()
    saved = Checkpoints(complete=(REF,), started=1).to_json()
    manager, registered = TREE.stream_manager(1), _json(REGISTRATION)
    request, demand = f"{TREE.requests}/1", f"{TREE.demands}/1"
    return {
        ("execution", "is_current"): Probe(
            TREE.execution, execution, lambda stand: is_current(stand.state, stand.launch)
        ),
        ("execution", "known_execution"): Probe(
            TREE.execution, execution, _named(lambda stand: known_execution(stand.state, "words"))
        ),
        ("execution", "MasterState"): Probe(
            TREE.execution, execution, _named(lambda stand: stand.master_state().execution)
        ),
        ("definition", "needed"): Probe(
            TREE.definition, definition, _reads(TREE.definition, LogicalPlan, needed)
        ),
        ("definition", "_keeps_objects"): Probe(
            TREE.definition, definition, lambda stand: _keeps_objects(stand.state, TREE)
        ),
        ("packing_plan", "needed"): Probe(
            TREE.packing_plan, placed, _reads(TREE.packing_plan, PackingPlan, needed)
        ),
        ("packing_plan", "_plan"): Probe(
            TREE.packing_plan,
            placed,
            lambda stand: f"{len(_plan(stand.state, 'words').containers)} containers",
        ),
        ("physical_plan", "MasterState"): Probe(
            TREE.physical_plan, plan, lambda stand: f"epoch {stand.master_state().plan.epoch}"
        ),
        ("physical_plan", "read"): Probe(
            TREE.physical_plan, plan, _reads(TREE.physical_plan, PhysicalPlan, read)
        ),
        ("next_plan", "write_coming"): Probe(TREE.next_plan, plan, _written_coming),
        ("checkpoints", "take_over"): Probe(TREE.checkpoints, saved, _taken_over),
        ("checkpoints", "_node"): Probe(
            TREE.checkpoints, saved, _named(lambda stand: _node(stand.state, TREE))
        ),
        ("checkpoints", "newest_complete"): Probe(
            TREE.checkpoints, saved, _named(lambda stand: newest_complete(stand.state, "words"))
        ),
        ("update", "take_over"): Probe(TREE.update, _UPDATE.to_json(), _update_taken_over),
        ("update", "read"): Probe(TREE.update, _UPDATE.to_json(), _reads(TREE.update, Update, read)),
        ("live", "read"): Probe(TREE.live, _json(Live(RUNNING)), _reads(TREE.live, Live, read)),
        ("live", "change_live"): Probe(
            TREE.live, _json(Live(RUNNING)), lambda stand: change_live(stand.state, "words", _paused).state
        ),
        ("shipped", "uploads_of"): Probe(
            TREE.shipped, b'{"files":[]}', _named(lambda stand: uploads_of(stand.state, "words"))
        ),
        ("leaving", "exists"): Probe(TREE.leaving, b"", lambda stand: stand.state.exists(TREE.leaving)),
        ("master", "reported"): Probe(TREE.master, registered, _reads(TREE.master, Registration, reported)),
        ("scheduler", "SchedulerProcess"): Probe(
            TREE.scheduler,
            _json(SchedulerNode.of_this_process({})),
            lambda stand: "present" if SchedulerProcess(stand.state, TREE.scheduler).present else "absent",
        ),
        ("waiting", "reported"): Probe(TREE.waiting, b"{}", _reads(TREE.waiting, Waiting, reported)),
        ("update_failure", "reported"): Probe(
            TREE.update_failure,
            _json(UpdateFailure(2, "no room")),
            _reads(TREE.update_failure, UpdateFailure, reported),
        ),
        ("restore", "reported"): Probe(
            TREE.restore, _json(Decision(1)), _reads(TREE.restore, Decision, reported)
        ),
        ("stream_manager", "register"): Probe(
            manager, registered, lambda stand: register(stand.state, manager, REGISTRATION)
        ),
        ("stream_manager", "stay_registered"): Probe(
            manager, registered, lambda stand: stay_registered(stand.state, manager, REGISTRATION)
        ),
        ("executor", "ExecutorRecord"): Probe(TREE.executor(1), _json(ExecutorNode(1, 0)), _incarnation),
        ("pulse", "HeartbeatReader"): Probe(TREE.pulse(1), b"token", _pulse),
        ("given_up", "given_up"): Probe(
            TREE.given_up(1), b"given up", _named(lambda stand: given_up(stand.state, TREE, 1))
        ),
        ("requests", "pending_requests"): Probe(
            request,
            _json(Request(kind="restart")),
            lambda stand: len(pending_requests(stand.state, "words")),
        ),
        ("demands", "pending_demands"): Probe(
            demand, _json(Demand()), lambda stand: len(pending_demands(stand.state, "words"))
        ),
        ("clients", "client_keys"): Probe(
            f"{TREE.clients}/1", registered, lambda stand: len(client_keys(stand.state, TREE))
        ),
        ("all of them", "unreachable"): Probe(
            TREE.packing_plan, placed, lambda stand: unreachable(stand.state, "words").state
        ),
    }


def outcome(stand: Stand, probe: Probe) -> str:
    """What the reader gives or raises."""
    try:
        return str(probe.read(stand))
    except (DamagedNode, NodeMissing) as error:
        return type(error).__name__


def check_table(stand: Stand, damage: Callable[[str], object]) -> None:
    """Every row, each way; `damage` damages a node that is there."""
    table, known = rows(), probes(stand.state)
    assert [(row.node, row.reader) for row in table] == list(known)
    wrong = []
    for row in table:
        probe = known[row.node, row.reader]
        for which in OUTCOMES:
            stand.state.delete(TREE.root, recursive=True)
            submitted(stand.state, "effectively_once")
            stand.state.delete(probe.path)
            if which != "missing":
                stand.state.set(probe.path, probe.whole)
            if which == "damaged":
                damage(probe.path)
            found, expected = outcome(stand, probe), getattr(row, which)
            if found != expected:
                wrong.append(f"{row.node}, {row.reader}, {which}: {found}, not {expected}")
    assert not wrong, "\n".join(wrong)
