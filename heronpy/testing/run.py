"""Runs a topology in this process: list in, list out, and time that a test moves."""

from __future__ import annotations

import functools
import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.groupings.fields import Fields
from heronpy.instances.task.build import Task
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.config.units import parse_duration
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import Input
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.testing.clock import Clock
from heronpy.testing.names import component_called, input_from, stream_called
from heronpy.testing.placing import Testable, placed
from heronpy.testing.stand_in import FedRow, FedSpout
from heronpy.testing.tasks_under_test import TasksUnderTest

#: calls of next_tuple after which a spout counts as one that never ends
_ENDLESS = 100_000


class Counts(NamedTuple):
    """What the tasks of one component have done, all together."""

    emitted: int
    executed: int
    acked: int
    failed: int
    #: most tuples that ever waited at one of its tasks
    most_queued: int
    #: thrown away for want of credit, where the topology allows that
    dropped: int = 0


class TopologyTest:
    """A topology that runs step by step in this process: no ports, no processes, no threads, no waiting.

    It is made of the very parts that run in production, down to frames and credit; only the sockets and the
    clock are others. Equal inputs give equal runs. Components are made and initialized at the first step.

    >>> from heronpy import Bolt, Grouping, Spout, Topology
    >>> class Words(Spout):
    ...     outputs = ["word"]
    >>> class Count(Bolt):
    ...     outputs = ["word", "count"]
    ...     def process(self, tup):
    ...         n = self.state[tup.word] = self.state.get(tup.word, 0) + 1
    ...         self.emit([tup.word, n])
    >>> class WordCount(Topology):
    ...     words = Words.spec()
    ...     count = Count.spec(par=2, inputs={words: Grouping.fields("word")})
    >>> with TopologyTest(WordCount) as run:
    ...     run.feed("words", [["a"], ["b"], ["a"]])
    ...     run.run()
    ...     run.emitted("count")
    [['a', 1], ['b', 1], ['a', 2]]
    """

    __test__ = False  # not a test itself, whatever pytest thinks of its name

    def __init__(
        self,
        topology: Testable,
        *,
        containers: int = 1,
        settings: Mapping[str, Any] | None = None,
        seed: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`topology` is a Topology class, a TopologyBuilder or a LogicalPlan.

        `settings` are those of heron.toml, as for `--set`. `containers` matters to local_or_shuffle only.
        Without a `seed` every tuple goes all the way before a spout is asked for the next one, and shuffle
        groupings begin with the first task. A seed mixes everything up, in its own reproducible way: queues
        form and batches grow, as in production.
        """
        self._plan, self._find = placed(topology, containers)
        config = load_config(os.devnull, environ={}, flags=settings or {})
        self._flow = flow_of(config)
        self._store = functools.partial(open_checkpoint_store, config) if config["checkpoint.path"] else None
        self._seed = seed
        self.clock = clock or Clock()
        self._fed: dict[str, deque[FedRow]] = {}
        #: spout → the task that is next in turn
        self._turns: dict[str, Iterator[int]] = {}
        self._tasks: TasksUnderTest | None = None
        self._closed = False

    def feed(
        self,
        spout: str,
        rows: Iterable[Sequence[Any]],
        *,
        stream: str = "default",
        index: int | None = None,
    ) -> None:
        """Have these rows emitted in place of a spout's own, dealt to its tasks in turn or all to one.

        Of a spout that is fed nothing runs, not even its constructor: a test needs no broker.
        """
        component = component_called(self._plan.logical, spout, index)
        if component.kind != "spout":
            msg = f"{spout!r} is a bolt, and only spouts can be fed"
            raise TopologyError(msg, hint=f"run.send({spout!r}, values)")
        stream_called(component, stream)
        if self._tasks is not None and spout not in self._fed:
            msg = f"spout {spout!r} runs as itself already"
            raise TopologyError(msg, hint="feed it before the first step of the run")
        rows = list(rows)
        if wrong := [row for row in rows if not isinstance(row, list | tuple)]:
            msg = f"feed() takes rows, each a list of values, and {wrong[0]!r} is none"
            raise TopologyError(msg, hint=f"run.feed({spout!r}, [[value, …], …])")
        turns = self._turns.setdefault(spout, itertools.cycle(range(component.parallelism)))
        self._fed.setdefault(spout, deque()).extend(
            FedRow(list(row), stream, next(turns) if index is None else index) for row in rows
        )

    def send(
        self,
        bolt: str,
        values: Sequence[Any],
        *,
        source: str | None = None,
        stream: str = "default",
        index: int | None = None,
    ) -> None:
        """Hand a bolt one tuple as if `source` had emitted it; it may be left out if there is only one.

        Without an index it goes to the task that owns its key, or to the first one if it has none.
        """
        edge = input_from(component_called(self._plan.logical, bolt, index), source, stream)
        fields = stream_called(component_called(self._plan.logical, edge.component), stream).fields
        if len(values) != len(fields):
            msg = (
                f"{len(values)} values for stream {stream!r} of {edge.component!r}, which has {list(fields)}"
            )
            raise TopologyError(msg)
        receiver = self._receiver(bolt, edge, fields, values) if index is None else self.task_ids(bolt)[index]
        tasks = self._going()
        emitter = tasks.tasks_of(edge.component)[0]
        outbox = emitter.parts.outbox
        lane = outbox.lane(self._plan.streams.index((edge.component, stream)), receiver)
        lane.rows.append(tuple(values))
        outbox.opened(lane)
        tasks.wake(emitter)

    def run(self) -> None:
        """Go on until nothing moves any more. Spouts that are not fed are left alone: see run_spouts."""
        __tracebackhide__ = True
        tasks = self._going()
        while tasks.ask(_is_fed):
            pass
        tasks.settle()
        tasks.check_ledger()

    def run_spouts(self, calls: int | None = None) -> None:
        """Call next_tuple of every spout task so many times, or until none emits any more; then run()."""
        __tracebackhide__ = True
        tasks = self._going()
        for _ in range(_ENDLESS if calls is None else calls):
            if not tasks.ask(_anyone) and calls is None:
                break
        else:
            if calls is None:
                msg = f"the spouts still emit after {_ENDLESS} calls of next_tuple"
                raise TopologyError(msg, hint="run.run_spouts(calls=10)")
        self.run()

    def advance(self, duration: str | float) -> None:
        """Move the clock by "10s" or so many seconds; whatever falls due on the way happens at its time."""
        __tracebackhide__ = True
        self.run()
        end = self.clock.monotonic() + parse_duration(duration)
        while (left := end - self.clock.monotonic()) > 0:
            self.clock.advance(self._going().until_next_due(left))
            self.run()

    def emitted(
        self, component: str, stream: str = "default", *, index: int | None = None
    ) -> list[list[Any]]:
        """All that a component has emitted on a stream, in order; or one task of it."""
        stream_called(component_called(self._plan.logical, component, index), stream)
        if self._tasks is None:
            return []
        tasks = self._plan.tasks_of(component)
        recorders = [self._tasks.recorders[task.id] for task in (tasks if index is None else [tasks[index]])]
        entries = itertools.chain.from_iterable(one.emitted.get(stream, ()) for one in recorders)
        return [list(values) for _, values in sorted(entries, key=lambda entry: entry[0])]

    def component(self, name: str, index: int = 0) -> Any:
        """The spout or bolt object of one task, initialized."""
        component_called(self._plan.logical, name, index)
        return self._started().tasks_of(name)[index].component

    def state(self, name: str, *, index: int | None = None) -> dict[Any, Any]:
        """A copy of what a component has in `self.state`: of all its tasks together, or of one."""
        component_called(self._plan.logical, name, index)
        tasks = self._started().tasks_of(name)
        merged: dict[Any, Any] = {}
        for task in tasks if index is None else [tasks[index]]:
            state = task.parts.open_state()
            if twins := merged.keys() & state.keys():
                msg = f"several tasks of {name!r} have {next(iter(twins))!r} in their state"
                raise TopologyError(msg, hint=f"run.state({name!r}, index=0)")
            merged.update(state)
        return merged

    def task_ids(self, name: str) -> list[int]:
        """The ids of a component's tasks, lowest first."""
        component_called(self._plan.logical, name)
        return [task.id for task in self._plan.tasks_of(name)]

    def counts(self) -> dict[str, Counts]:
        """What each component has done so far."""
        tasks = self._started()
        return {
            component.name: _counts(tasks.tasks_of(component.name), tasks.links.most_queued)
            for component in self._plan.logical.components
        }

    def close(self) -> None:
        """Call clean_up() of the hooks and close() of every component. Leaving a `with` block does it too."""
        __tracebackhide__ = True
        if self._tasks is not None and not self._closed:
            self._closed = True
            self._tasks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _receiver(self, bolt: str, edge: Input, fields: Sequence[str], values: Sequence[Any]) -> int:
        tasks = self.task_ids(bolt)
        if edge.grouping.kind != "fields":
            return tasks[0]
        lanes, where = {task: task for task in tasks}, f"what is sent to {bolt!r}"
        by_key = Fields(lanes, self._plan.key_groups[bolt], edge.grouping.fields, fields, where)
        return by_key.targets(tuple(values))[0]

    def _started(self) -> TasksUnderTest:
        __tracebackhide__ = True
        if self._tasks is None:
            self._tasks = TasksUnderTest(
                self._plan, self._find, self._flow, self.clock, self._seed, self._fed, self._store
            )
            self._tasks.initialize()
        return self._tasks

    def _going(self) -> TasksUnderTest:
        """The tasks, ready for a step."""
        __tracebackhide__ = True
        tasks = self._started()
        if self._closed or tasks.failure is not None:
            msg = f"this run is over: {tasks.failure!r}" if tasks.failure else "this run is closed"
            raise TopologyError(msg, hint="make a new one")
        return tasks


def flow_of(config: Config) -> FlowSettings:
    """One call of next_tuple per turn, so that a test can count them; watermarks leave at once."""
    settings = FlowSettings.from_config(config)
    return msgspec.structs.replace(
        settings, spout_calls=1, watermark_interval=0.0, watermark_per_receiver=0.0
    )


def _anyone(_: Task) -> bool:
    return True


def _is_fed(task: Task) -> bool:
    return isinstance(task.component, FedSpout)


def _counts(tasks: list[Task], most_queued: Mapping[int, int]) -> Counts:
    counters = [task.parts.counters for task in tasks]
    return Counts(
        emitted=sum(sum(one.emitted.values()) for one in counters),
        executed=sum(sum(one.executed.values()) for one in counters),
        acked=sum(one.acked for one in counters),
        failed=sum(one.failed for one in counters),
        most_queued=max(most_queued.get(task.parts.context.get_task_id(), 0) for task in tasks),
        dropped=sum(sum(one.dropped.values()) for one in counters),
    )
