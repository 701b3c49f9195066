"""A topology without processes: its tasks do at once what the state tree says, and say so in beats."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec

from heronpy.kernel.checkpoints.interval import KEY
from heronpy.kernel.checkpoints.manifest import checksum
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, own_prefix, update_prefix
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.formats import NODE
from heronpy.kernel.master.background import BackgroundWorker, T
from heronpy.kernel.master.coordinator import Coordinator
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    PlacedTask,
    Resources,
)
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, Part, ProcessBeat, Stored
from heronpy.kernel.trace_points import EVENT
from heronpy.kernel.tree.paths import ChildView, Execution, ExecutorNode, Tree
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.request_nodes import answer_request
from heronpy.kernel.tree.requests import pending_requests
from heronpy.kernel.tree.update import BOTH_RUN, Update

N = TypeVar("N")

TREE = Tree("words")
EXECUTION = "execution"
Reliability = Literal["at_most_once", "at_least_once", "effectively_once"]


def logical_plan(reliability: Reliability) -> LogicalPlan:
    """line feeds count by word, and is saved every second."""
    line = Component("line", "spout", "m.Line", 1, outputs=(DeclaredStream("default", ("word",)),))
    edge = Input("line", "default", DeclaredGrouping("fields", ("word",)))
    count = Component("count", "bolt", "m.Count", 2, inputs=(edge,))
    return LogicalPlan("words", (line, count), config={KEY: 1}, reliability=reliability, key_groups=8)


def packing(*counters: int, epoch: int = 1) -> PackingPlan:
    """line is task 1, in container 1; the counters, by task, in containers 1, 2, 3 and so on."""
    placed = {1: [InstancePlan(1, "line", 0)]}
    for index, task in enumerate(counters):
        placed.setdefault(index + 1, []).append(InstancePlan(task, "count", index))
    containers = tuple(ContainerPlan(number, tuple(those), Resources()) for number, those in placed.items())
    return PackingPlan("words", "test", containers, next_task=10, epoch=epoch)


def submitted(state: StateManager, reliability: Reliability) -> None:
    """What a submit leaves in the tree: line[0], count[0] and count[1]."""
    execution = Execution(EXECUTION, "me", 0.0, "0", "test", "local", "localfs")
    state.set(TREE.execution, NODE.encode(execution))
    state.set(TREE.definition, logical_plan(reliability).to_json())
    state.set(TREE.packing_plan, packing(2, 3).to_json())


def proposal(*counters: int, epoch: int = 2) -> Update:
    after = packing(*counters, epoch=epoch)
    return Update(number=1, epoch=epoch, phase="proposed", packing=after, wanted={"count": len(counters)})


class Crew:
    """All tasks and Stream Managers of the plans in the tree; what they do depends on what is there now."""

    def __init__(self, state: StateManager, config: Config) -> None:
        self._state = state
        self.store: CheckpointStore = open_checkpoint_store(config)
        self.incarnations: dict[int, int] = {}
        self.managers: dict[int, int] = {}
        #: tasks that say nothing any more
        self.dead: set[int] = set()
        #: changes a beat before it is sent
        self.twist: Callable[[InstanceBeat], None] = lambda beat: None
        self._known: dict[str, Any] = {}

    def _read(self, path: str, kind: type[N]) -> N | None:
        """As last read while it is damaged."""
        with contextlib.suppress(DamagedNode):
            self._known[path] = read(self._state, path, kind)
        found: N | None = self._known.get(path)
        return found

    def beats(self) -> list[ContainerBeat]:
        self._restart_containers()
        plan = self._read(TREE.physical_plan, PhysicalPlan)
        assert plan is not None
        update = self._read(TREE.update, Update)
        coming = self._read(TREE.next_plan, PhysicalPlan)
        on_its_way = update is not None and update.phase in BOTH_RUN
        if not on_its_way or update is None or coming is None or coming.epoch != update.epoch:
            coming = None
        tasks = {task.id: task for task in (*plan.tasks, *(coming.tasks if coming is not None else ()))}
        containers: dict[int, list[ProcessBeat]] = {}
        for task in tasks.values():
            processes = containers.setdefault(task.container, [])
            if task.id not in self.dead:
                incarnation = self.incarnations.get(task.id, 1)
                beat = self._beat(task, plan, coming, update)
                processes.append(ProcessBeat(slot=task.slot, incarnation=incarnation, instances=[beat]))
        return [
            ContainerBeat(container=each, incarnation=self.managers.get(each, 1), processes=processes)
            for each, processes in containers.items()
        ]

    def _beat(
        self, task: PlacedTask, plan: PhysicalPlan, coming: PhysicalPlan | None, update: Update | None
    ) -> InstanceBeat:
        node = self._read(TREE.checkpoints, Checkpoints) or Checkpoints()
        incarnation = self.incarnations.get(task.id, 1)
        beat = InstanceBeat(task=task.id, state="running")
        effectively = plan.logical.reliability == "effectively_once"
        if effectively and task in plan.tasks and node.members.get(task.id) != incarnation:
            beat.state = "starting"
        elif effectively:
            beat.run = node.run
        if task not in plan.tasks:
            beat.state = "ready"
        if node.started and beat.state == "running":
            beat.snapshot.CopyFrom(self._stored(task, node.started, beat.run, checkpoint_prefix))
        beat.current_epoch = plan.epoch
        if coming is not None and update is not None:
            beat.next_epoch = coming.epoch
            if task.component in update.cut:
                beat.handover.CopyFrom(self._stored(task, coming.epoch, beat.run, update_prefix))
            if update.phase in ("load", "release"):
                beat.loaded_epoch = coming.epoch
        self.twist(beat)
        return beat

    def _stored(self, task: PlacedTask, number: int, run: int, prefix: Callable[[str, int], str]) -> Stored:
        data = f"{task.label} {number}".encode()
        folder = prefix(own_prefix("words", EXECUTION), number)
        name = f"{folder}/{task.id}-{self.incarnations.get(task.id, 1)}"
        if name not in self.store.names(name):
            self.store.write(name, [data])
        part = Part(object=name, checksum=checksum(data), bytes=len(data), groups=[], whole=True)
        return Stored(id=number, run=run, parts=[part])

    def _restart_containers(self) -> None:
        """What the scheduler's process does."""
        for path, request in pending_requests(self._state, "words"):
            assert request.container is not None
            self.managers[request.container] = self.managers.get(request.container, 1) + 1
            plan = self._read(TREE.physical_plan, PhysicalPlan)
            assert plan is not None
            for task in plan.tasks:
                if task.container == request.container:
                    self.incarnations[task.id] = self.incarnations.get(task.id, 1) + 1
            answer_request(self._state, path, request)


class Inline(BackgroundWorker):
    """Runs all work at once: a test decides when things happen."""

    def __init__(self) -> None:
        self.guard = lambda call: call()

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        outcome: T | Exception
        try:
            outcome = work()
        except Exception as error:
            outcome = error
        self.guard(lambda: done(outcome))


class Conductor:
    """A Topology Master without sockets, on a clock that the test moves."""

    def __init__(self, state: StateManager, config: Config, crew: Crew, incarnation: int = 1) -> None:
        self.master_state = MasterState(state, TREE, incarnation, config)
        self.crew = crew
        self.now = 100.0 * incarnation
        self.coordinator = Coordinator(
            self.master_state, Inline(), lambda: None, self.hear_executors, self.now
        )
        #: what the executors have published; the watch may not have told yet
        self.published: dict[int, ExecutorNode] = {}
        self.master_state.take_over()

    def hear_executors(self) -> None:
        self.master_state.roster.executors = self.published

    def executors(self, name: str, child: ChildView, incarnation: int = 0) -> dict[int, ExecutorNode]:
        """As they speak of one child; called as a task, it is the process that the task lives in."""
        state = self.master_state
        tasks = [*state.plan.tasks, *(state.coming.tasks if state.coming is not None else ())]
        held = tuple({task.id for task in tasks if task.label == name})
        children = {name: msgspec.structs.replace(child, tasks=held)}
        return {each: ExecutorNode(incarnation, pid=7, children=children) for each in state.containers()}

    def turn(self, seconds: float = 0.1) -> None:
        self.now += seconds
        for beat in self.crew.beats():
            self.master_state.roster.on_container(beat)
        self.coordinator.refresh()
        self.coordinator.look(self.now)

    def until(self, reached: Callable[[], bool], turns: int = 200) -> None:
        for _ in range(turns):
            if reached():
                return
            self.turn()
        msg = f"not reached: {self.master_state.checkpoints.value}, {self.master_state.update.value}"
        raise AssertionError(msg)


class Died(BaseException):
    """The process is gone, in the middle of what it did."""


class Steps:
    """Follows the steps of this process while it is open, and does something at one of them."""

    _listening: list[Steps] = []
    _hooked = False

    def __init__(self, at: str = "", then: Callable[[], None] | None = None) -> None:
        self.seen: list[str] = []
        self._at = at
        self._then = then

    def __enter__(self) -> Steps:
        if not Steps._hooked:
            # a hook stays for as long as the process
            sys.addaudithook(_on_event)
            Steps._hooked = True
        Steps._listening.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Steps._listening.remove(self)

    def on_step(self, name: str) -> None:
        self.seen.append(name)
        if name == self._at:
            self._at = ""
            if self._then is None:
                raise Died(name)
            self._then()


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event == EVENT:
        for steps in list(Steps._listening):
            steps.on_step(str(arguments[0]))
