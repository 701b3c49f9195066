"""All tasks of a topology in one process, called by the engine's loop for many tasks."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from heronpy.instances.execution.many_tasks import ManyTasks, in_order
from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.execution.turn import Turn
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.task.build import Task, build_task
from heronpy.instances.task.spout_task import SpoutTask
from heronpy.kernel.flow.frame import ANCHORED, DATA, unseal
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.testing.clock import Clock
from heronpy.testing.placing import Finder
from heronpy.testing.stand_in import FedRow, FedSpout, Recorder
from heronpy.window import SlidingWindowBolt, TumblingWindowBolt

_INCARNATION = 1
#: seconds after which a spout that is not asked looks whether anything is to be done
_RESTING = 0.5


class CountingLinks(MemoryLinks):
    """Memory links that keep account of the tuples they carry."""

    def __init__(self, tasks: Mapping[int, TestedTask]) -> None:
        super().__init__()
        self._tasks = tasks
        #: task id → tuples brought to it
        self.brought: dict[int, int] = {}
        #: task id → most tuples that ever waited at it
        self.most_queued: dict[int, int] = {}

    def carry(self, prefix: bytes, payload: bytes) -> None:
        super().carry(prefix, payload)
        read = unseal(prefix, payload)
        if read.kind in (DATA, ANCHORED):
            to = read.destination
            brought = self.brought[to] = self.brought.get(to, 0) + read.tuples
            self.most_queued[to] = max(brought - self._tasks[to].executed, self.most_queued.get(to, 0))


class TestedTask:
    """A task whose errors are kept for the test, and whose next_tuple is called when the test asks for it."""

    __test__ = False

    def __init__(self, task: Task, on_failure: Callable[[TestedTask, Exception], None]) -> None:
        self.task = task
        self.id = task.parts.context.get_task_id()
        self.is_spout = isinstance(task.loop, SpoutTask)
        self._on_failure = on_failure
        #: whether next_tuple is to be called once
        self.asked = False

    @property
    def executed(self) -> int:
        return sum(self.task.parts.counters.executed.values())

    @property
    def emitted(self) -> int:
        return sum(self.task.parts.counters.emitted.values())

    def turn(self) -> Turn:
        try:
            if self.is_spout and not self.asked:
                return self._rest()
            # A turn in which a spout pauses for credit is none that a test would count.
            self.asked = bool(self.task.parts.outbox.overfull)
            return self.task.turn()
        except Exception as error:
            self._on_failure(self, error)
            return Turn.DONE

    def patience(self) -> float:
        return self.task.parts.schedule.patience(_RESTING) if self.is_spout else self.task.patience()

    def initialize(self) -> None:
        try:
            self.task.initialize()
        except Exception as error:
            self._on_failure(self, error)

    def _rest(self) -> Turn:
        """A turn of a spout without next_tuple."""
        assert isinstance(self.task.loop, SpoutTask)
        if self.task.parts.tracker is not None:
            self.task.loop.tell()
        self.task.parts.schedule.run_due()
        self.task.flush()
        return Turn.BLOCKED if self.task.parts.outbox.waiting else Turn.DONE


class TasksUnderTest:
    """The tasks of a run: each tuple goes all the way before the next, or a seed mixes them all."""

    def __init__(
        self,
        plan: PhysicalPlan,
        find: Finder,
        settings: FlowSettings,
        clock: Clock,
        seed: int | None,
        fed: Mapping[str, deque[FedRow]],
        store: Callable[[], CheckpointStore] | None = None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._clock = clock
        self._dice = dice = None if seed is None else random.Random(seed)
        self._numbering = itertools.count()
        #: what ended the run
        self.failure: Exception | None = None
        #: tasks that were initialized and have not failed
        self._alive: list[TestedTask] = []
        self._tasks: dict[int, TestedTask] = {}
        self.links = CountingLinks(self._tasks)
        order = in_order if dice is None else lambda members: dice.sample(members, len(members))
        self._loop = ManyTasks(self.links, clock=clock.monotonic, order=order)
        self.recorders: dict[int, Recorder] = {}
        for task_id in (task.id for task in plan.tasks):
            self._build(task_id, find, settings, fed)

    def initialize(self) -> None:
        __tracebackhide__ = True
        for tested in self._tasks.values():
            self._alive.append(tested)
            tested.initialize()
            self._raise_failure()

    def _build(
        self, task_id: int, find: Finder, settings: FlowSettings, fed: Mapping[str, deque[FedRow]]
    ) -> None:
        def stand_in(path: str) -> type[Any]:
            return FedSpout if path == component.class_path else find(path)

        component = self._plan.logical.component(self._plan.task(task_id).component)
        link = self.links.open(task_id)
        task = build_task(
            self._plan,
            task_id,
            _INCARNATION,
            link,
            settings,
            stand_in if component.name in fed else find,
            self._clock.monotonic,
            (lambda _: 0) if self._dice is None else self._dice.randrange,
            self._clock.time,
            store=self._store,
            may_wait=False,
        )
        link.handler = task.on_frame
        if isinstance(task.component, FedSpout):
            task.component.rows = fed[component.name]
            task.component.index = self._plan.task(task_id).index
        if isinstance(task.component, TumblingWindowBolt | SlidingWindowBolt):
            task.component.clock = self._clock
        self.recorders[task_id] = Recorder(task.component, self._numbering)
        task.component.delegate = self.recorders[task_id]
        self._tasks[task_id] = TestedTask(task, self._on_failure)
        self._loop.add(task_id, self._tasks[task_id], link)

    def tasks_of(self, component: str) -> list[Task]:
        return [self._tasks[task.id].task for task in self._plan.tasks_of(component)]

    def wake(self, task: Task) -> None:
        """The test has put something into its outbox."""
        self._loop.wake(task.parts.context.get_task_id())

    def ask(self, who: Callable[[Task], bool]) -> bool:
        """Call next_tuple of these spouts once, and let the tuples go on; whether anything was emitted."""
        __tracebackhide__ = True
        spouts = [tested for tested in self._tasks.values() if tested.is_spout and who(tested.task)]
        before = sum(spout.emitted for spout in spouts)
        for together in [spouts] if self._dice is not None else [[spout] for spout in spouts]:
            for spout in together:
                spout.asked = True
                self._loop.wake(spout.id)
            self._round()
            while any(spout.asked for spout in together) and self._round():
                pass
            if self._dice is None:
                self.settle()
        return sum(spout.emitted for spout in spouts) > before

    def settle(self) -> None:
        """Go on until nothing moves."""
        __tracebackhide__ = True
        while self._round():
            pass

    def until_next_due(self, longest: float) -> float:
        """Seconds until some task has something to do by the clock."""
        return min(tested.task.loop.until_due(longest) for tested in self._tasks.values())

    def check_ledger(self) -> None:
        """Nothing moves any more, so every tuple must have been processed where it was to go."""
        for task_id, tested in self._tasks.items():
            counters, brought = tested.task.parts.counters, self.links.brought.get(task_id, 0)
            waiting = tested.task.parts.outbox.waiting
            if brought != tested.executed or counters.missing or counters.rejected or waiting:
                name, found = tested.task.parts.logger.name, vars(counters)
                msg = f"{name} was brought {brought} tuples and processed {tested.executed}: {found}"
                raise AssertionError(msg)

    def close(self) -> None:
        """End every task, but none that has failed: neither does a crash."""
        for tested in self._alive:
            tested.task.close()

    def _round(self) -> bool:
        __tracebackhide__ = True
        moved = self._loop.round()
        self._raise_failure()
        return moved

    def _on_failure(self, tested: TestedTask, error: Exception) -> None:
        error.add_note(f"in {tested.task.parts.logger.name} of topology {self._plan.topology}")
        self.failure = error
        self._alive.remove(tested)
        self.links.stopping = True

    def _raise_failure(self) -> None:
        __tracebackhide__ = True
        if self.failure is not None:
            raise self.failure.with_traceback(_user_part(self.failure.__traceback__))


def _user_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not the engine's."""
    rest = trace
    while rest is not None:
        if not str(rest.tb_frame.f_globals.get("__name__")).startswith("heronpy."):
            return rest
        rest = rest.tb_next
    return trace
