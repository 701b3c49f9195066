"""All tasks of a topology in one process, each taking its turn."""

from __future__ import annotations

import functools
import itertools
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from heronpy.instances.execution.one_task import OneTask
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.outbox import Stopping
from heronpy.instances.task.build import Task, build_task
from heronpy.instances.task.spout_task import SpoutTask
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.spout import Spout
from heronpy.testing.clock import Clock
from heronpy.testing.placing import Finder
from heronpy.testing.stand_in import FedRow, FedSpout, Recorder
from heronpy.testing.wire import MemoryLink, Wire
from heronpy.window import SlidingWindowBolt, TumblingWindowBolt

_INCARNATION = 1


class Troupe:
    """Tasks that take turns: each tuple goes all the way before the next, or a seed mixes them all."""

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
        self._dice = None if seed is None else random.Random(seed)
        self._downstream = _downstream(plan)
        self._numbering = itertools.count()
        #: what ended the run
        self.failure: Exception | None = None
        #: tasks that were initialized and have not failed
        self._alive: list[Task] = []
        self.wire = Wire()
        self.recorders: dict[int, Recorder] = {}
        for task_id in (task.id for task in plan.tasks):
            self.wire.tasks[task_id] = self._build(task_id, find, settings, fed)

    def initialize(self) -> None:
        __tracebackhide__ = True
        # Receivers first: a component may emit as soon as it is initialized.
        for task in sorted(self.wire.tasks.values(), key=lambda task: len(self._downstream[_id(task)])):
            self._alive.append(task)
            self._call(task, task.initialize)
            self._raise_failure()

    def _build(
        self, task_id: int, find: Finder, settings: FlowSettings, fed: Mapping[str, deque[FedRow]]
    ) -> Task:
        def stand_in(path: str) -> type[Any]:
            return FedSpout if path == component.class_path else find(path)

        component = self._plan.logical.component(self._plan.task(task_id).component)
        task = build_task(
            self._plan,
            task_id,
            _INCARNATION,
            MemoryLink(self.wire, task_id, self._let_downstream_run),
            settings,
            stand_in if component.name in fed else find,
            self._clock.monotonic,
            (lambda _: 0) if self._dice is None else self._dice.randrange,
            store=self._store,
        )
        if isinstance(task.component, FedSpout):
            task.component.rows = fed[component.name]
            task.component.index = self._plan.task(task_id).index
        if isinstance(task.component, TumblingWindowBolt | SlidingWindowBolt):
            task.component.clock = self._clock
        self.recorders[task_id] = Recorder(task.component, self._numbering)
        task.component.delegate = self.recorders[task_id]
        return task

    def tasks_of(self, component: str) -> list[Task]:
        return [self.wire.tasks[task.id] for task in self._plan.tasks_of(component)]

    def round(self, asked: Callable[[Task], bool]) -> bool:
        """A turn for each task; a spout that is not asked only sends what it has. Whether anything moved."""
        __tracebackhide__ = True
        moved = False
        for task in self._order(list(self.wire.tasks)):
            is_spout = isinstance(task.component, Spout)
            resting = is_spout and not asked(task)
            moved |= self._turn(task, functools.partial(_rest if resting else _act, task))
            self._raise_failure()
            if is_spout and not resting and self._dice is None:
                self.settle()
        return moved

    def settle(self, asked: Callable[[Task], bool] = lambda _: False) -> None:
        """Go on until nothing moves."""
        __tracebackhide__ = True
        while self.round(asked):
            pass

    def until_next_due(self, longest: float) -> float:
        """Seconds until some task has something to do by the clock."""
        return min(task.parts.schedule.patience(longest) for task in self.wire.tasks.values())

    def emitted_by_spouts(self) -> int:
        return sum(_emitted(task) for task in self.wire.tasks.values() if isinstance(task.component, Spout))

    def check_ledger(self) -> None:
        """Nothing moves any more, so every tuple must have been processed where it was to go."""
        for task_id, task in self.wire.tasks.items():
            counters = task.parts.counters
            brought, executed = self.wire.brought.get(task_id, 0), sum(counters.executed.values())
            if brought != executed or counters.missing or counters.rejected or task.parts.outbox.waiting:
                name, found = task.parts.logger.name, vars(counters)
                msg = f"{name} was brought {brought} tuples and processed {executed}: {found}"
                raise AssertionError(msg)

    def close(self) -> None:
        """End every task, but none that has failed: neither does a crash."""
        for task in self._alive:
            task.close()

    def _raise_failure(self) -> None:
        __tracebackhide__ = True
        if self.failure is not None:
            raise self.failure.with_traceback(_user_part(self.failure.__traceback__))

    def _order(self, tasks: Sequence[int]) -> list[Task]:
        order = list(tasks)
        if self._dice is not None:
            self._dice.shuffle(order)
        return [self.wire.tasks[task] for task in order]

    def _turn(self, task: Task, turn: Callable[[], object]) -> bool:
        busy, before = task.loop.has_input, (self.wire.frames, _emitted(task))
        self._call(task, turn)
        return busy or before != (self.wire.frames, _emitted(task))

    def _call(self, task: Task, call: Callable[[], object]) -> None:
        """An error is kept until all that wait in emit() are off the stack: it is not theirs to catch."""
        try:
            call()
        except Stopping:
            pass
        except Exception as error:
            error.add_note(f"in {task.parts.logger.name} of topology {self._plan.topology}")
            self.failure = error
            self._alive.remove(task)
            self.wire.stopping = True

    def _let_downstream_run(self, task_id: int) -> None:
        """Called while a task waits in emit(): without cycles, none below it can be waiting for it."""
        moved = False
        for task in self._order(self._downstream[task_id]):
            moved |= self._turn(task, OneTask(task, task.parts.link).step)
            if self.wire.stopping:
                return
        if not moved:
            msg = f"{self._plan.task(task_id).label} waits for credit that nobody is going to give"
            raise AssertionError(msg)


def _id(task: Task) -> int:
    return task.parts.context.get_task_id()


def _emitted(task: Task) -> int:
    return sum(task.parts.counters.emitted.values())


def _act(task: Task) -> None:
    # A turn in which a spout pauses for credit is none that a test would count.
    loop = OneTask(task, task.parts.link)
    while task.parts.outbox.overfull and not task.parts.link.stopping:
        loop.step()
    loop.step()


def _rest(task: Task) -> None:
    task.flush()
    if isinstance(task.loop, SpoutTask) and task.parts.tracker is not None:
        task.loop.tell()
    task.parts.schedule.run_due()


def _downstream(plan: PhysicalPlan) -> dict[int, list[int]]:
    """Every task's receivers, their receivers, and so on."""
    readers: dict[str, set[str]] = {one.name: set() for one in plan.logical.components}
    for reader in plan.logical.components:
        for edge in reader.inputs:
            readers[edge.component].add(reader.name)

    def below(name: str) -> set[str]:
        return readers[name].union(*(below(reader) for reader in readers[name]))

    reach = {name: below(name) for name in readers}
    return {
        task.id: [other.id for other in plan.tasks if other.component in reach[task.component]]
        for task in plan.tasks
    }


def _user_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame on that is not the engine's."""
    rest = trace
    while rest is not None:
        if not str(rest.tb_frame.f_globals.get("__name__")).startswith("heronpy."):
            return rest
        rest = rest.tb_next
    return trace
