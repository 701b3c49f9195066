"""emit(): from a list of values to rows in the lanes of the chosen tasks."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence, Set
from threading import get_ident
from typing import Any, NamedTuple, Protocol

from heronpy.instances.acking.anchored import Edges, EdgesOf
from heronpy.instances.acking.edges import random_bits
from heronpy.instances.counters import Counters
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Row
from heronpy.instances.output.groupings import make_grouping
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.instances.output.groupings.direct import Direct
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.output.rerouting import Rerouting, Way
from heronpy.kernel.errors import TopologyError, did_you_mean
from heronpy.kernel.flow.batches import RowBatch
from heronpy.kernel.plans import Component, DeclaredStream, Input, PhysicalPlan

#: called for every emit: values, stream, tasks
EmitHook = Callable[[Sequence[Any], str, list[int]], None]


class ShortEmit(Protocol):
    """emit() for plain tuples, which most are: no named task, no hook to call."""

    def __call__(self, values: Sequence[Any], stream: str, root: int = 0) -> int:
        """The XOR of the edges to the copies of the tuple (0 where there is no root).

        -1 without any effect when the tuple is not plain or not valid: the caller then uses the full emit().
        """


class PlainWays(NamedTuple):
    """What emit() needs for a plain tuple, to be held in local variables."""

    settled: Set[type]
    #: stream → tuples, as counted
    emitted: dict[str, int]
    #: the one thread that may emit
    thread: list[int]
    opened: Callable[[Lane], None]
    grown: Callable[[Lane], None]
    #: stream → number of values in a tuple, and its receivers; a stream that is not here is not plain
    choices: dict[str, tuple[int, Callable[[Row], Sequence[Lane]]]]


#: no thread has this number
_NOBODY = 0


class Outlet:
    """One declared stream of this component, with all its consumers."""

    __slots__ = ("direct", "direct_only", "groupings", "name", "number", "stream", "ways", "width")

    def __init__(self, stream: DeclaredStream, number: int, ways: list[Way]) -> None:
        self.stream = stream
        #: in frames
        self.number = number
        self.name = stream.name
        self.width = len(stream.fields)
        self.direct_only = stream.direct
        self.use(ways)

    def use(self, ways: list[Way]) -> None:
        """Send by these from now on, one for each consumer."""
        self.ways = ways
        self.groupings = [way.grouping for way in ways if not isinstance(way.grouping, Direct)]
        #: lanes of the consumers to whom the emitter names the task
        self.direct: dict[int, Lane] = {}
        for way in ways:
            if isinstance(way.grouping, Direct):
                self.direct.update(way.grouping.lanes)

    def choice(self) -> Callable[[Row], Sequence[Lane]]:
        """How the tasks of all readers are chosen: with one reader, as with most, by its grouping alone."""
        choices = [grouping.targets for grouping in self.groupings]
        if len(choices) == 1:
            return choices[0]
        return lambda row: [lane for choose in choices for lane in choose(row)]


class Collector:
    """All outlets of one task."""

    def __init__(
        self,
        plan: PhysicalPlan,
        task: int,
        outbox: Outbox,
        counters: Counters,
        custom: Callable[[Input, Sequence[int]], Chooser],
        pick: Callable[[int], int] = random.randrange,
    ) -> None:
        self._outbox = outbox
        self._settled = outbox.codec.settled
        self._freeze = outbox.codec.freeze
        self._emitted = counters.emitted
        self._component = plan.task(task).component
        #: the one thread that may emit; a list, so that the short way sees it change
        self._thread = [get_ident()]
        self._outlets: dict[str, Outlet] = {}
        self._emit_hook: EmitHook | None = None
        self._container = plan.task(task).container
        self._custom = custom
        self._pick = pick
        #: called for a copy that is dropped because no task needs it, so that its tree does not wait for it
        self.settle: Callable[[Edges], None] = lambda _: None
        for stream in plan.logical.component(self._component).outputs:
            number = plan.streams.index((self._component, stream.name))
            readers = plan.logical.consumers(self._component, stream.name)
            ways = [self._way(plan, number, consumer, edge) for consumer, edge in readers]
            self._outlets[stream.name] = Outlet(stream, number, ways)
            self._emitted.setdefault(stream.name, 0)
        self._plain_choices = {
            name: (outlet.width, outlet.choice())
            for name, outlet in self._outlets.items()
            if not outlet.direct_only
        }

    def _way(self, plan: PhysicalPlan, stream: int, consumer: Component, edge: Input) -> Way:
        lanes = {task.id: self._outbox.lane(stream, task.id) for task in plan.tasks_of(consumer.name)}
        grouping = make_grouping(
            plan, consumer, edge, lanes, container=self._container, custom=self._custom, pick=self._pick
        )
        return Way(consumer.name, edge, grouping)

    def use_plan(self, before: PhysicalPlan, plan: PhysicalPlan, changed: Collection[str]) -> None:
        """Route by another plan from now on, and reroute the rows that wait for components that have changed.

        The outbox uses the plan already. An emit() may be waiting in the outbox and hold references to the
        objects here, so they are changed in place.
        """
        old: list[Lane] = []
        ways: dict[tuple[int, str], Way] = {}
        for outlet in self._outlets.values():
            for way in outlet.ways:
                if way.consumer in changed:
                    old.extend(way.grouping.lanes.values())
                    consumer = plan.logical.component(way.consumer)
                    ways[outlet.number, way.consumer] = self._way(plan, outlet.number, consumer, way.edge)
            outlet.use([ways.get((outlet.number, way.consumer), way) for way in outlet.ways])
            if outlet.name in self._plain_choices:
                self._plain_choices[outlet.name] = (outlet.width, outlet.choice())
        Rerouting(self._outbox, before, ways, self.settle).move(old)
        self._outbox.following.begin_anew()

    def put_back(self, before: PhysicalPlan, stream: str, consumer: str, task: int, rows: list[Row]) -> None:
        """Rows of a snapshot that were emitted and had not been sent: they leave first.

        They were for `task` of `consumer` by the plan `before`, and go to the task that receives them by the
        current plan. Rows for a component or stream that no longer exists are dropped.
        """
        outlet = self._outlets.get(stream)
        way = next((way for way in outlet.ways if way.consumer == consumer), None) if outlet else None
        if outlet is not None and way is not None:
            frozen = RowBatch([self._freeze(row) for row in rows], [])
            Rerouting(self._outbox, before, {}, self.settle).queue(outlet.number, way, task, frozen)

    def disown(self) -> None:
        """Refuse every emit from now on: this is a forked process, and the sockets belong to its parent."""
        self._thread[0] = _NOBODY

    def emit(
        self,
        values: Sequence[Any],
        stream: str,
        direct_task: int | None,
        need_task_ids: bool,
        edges_of: EdgesOf | None = None,
    ) -> list[int] | None:
        """Route one tuple. Waits, with the sockets served, while a receiver gives no credit.

        Where trees are tracked, `edges_of` gives each copy of the tuple its place in them.
        """
        outlet = self._outlets.get(stream)
        row = tuple(values)
        if outlet is None or len(row) != outlet.width or get_ident() != self._thread[0]:
            raise self._refusal(outlet, row, stream, direct_task)
        if (direct_task is None) is outlet.direct_only:
            raise self._refusal(outlet, row, stream, direct_task)
        frozen = row
        for value in row:
            if type(value) not in self._settled:
                frozen = self._freeze(row)
                break
        self._emitted[stream] += 1
        return self._emit_and_tell(outlet, row, frozen, direct_task, need_task_ids, edges_of)

    def plain_ways(self) -> PlainWays:
        """For functions of their own, because every look-up on self would be paid for by every tuple."""
        outbox = self._outbox
        return PlainWays(
            self._settled, self._emitted, self._thread, outbox.opened, outbox.grown, self._plain_choices
        )

    def short_way(self) -> ShortEmit:
        """emit() of all that is no root."""
        settled, emitted, thread, opened, grown, choices = self.plain_ways()

        def short_emit(values: Sequence[Any], stream: str, root: int = 0) -> int:
            if stream not in choices or get_ident() != thread[0]:
                return -1
            row = tuple(values)
            width, choose = choices[stream]
            if len(row) != width:
                return -1
            for value in row:
                if type(value) not in settled:
                    return -1
            emitted[stream] += 1
            xor = 0
            for lane in choose(row):
                if root:
                    edge = random_bits(64)
                    xor ^= edge
                    lane.edges.append((root, edge))
                rows = lane.rows
                rows.append(row)
                size = len(rows)
                if size == 1:
                    opened(lane)
                elif size >= lane.due:
                    grown(lane)
            return xor

        return short_emit

    def tell_of_emits(self, hook: EmitHook) -> None:
        """Call this hook for every tuple; from now on all of them use the full emit()."""
        self._emit_hook = hook
        self._plain_choices.clear()

    def _emit_and_tell(
        self,
        outlet: Outlet,
        row: Row,
        frozen: Row,
        direct_task: int | None,
        need_task_ids: bool,
        edges_of: EdgesOf | None,
    ) -> list[int] | None:
        if direct_task is not None:
            lanes = [self._direct_lane(outlet, direct_task)]
        else:
            lanes = [lane for grouping in outlet.groupings for lane in grouping.targets(row)]
        tasks = [lane.channel.task for lane in lanes]
        edges = edges_of(len(lanes)) if edges_of is not None else ()
        for number, lane in enumerate(lanes):
            self._outbox.put(lane, frozen, edges[number : number + 1])
        if self._emit_hook is not None:
            self._emit_hook(row, outlet.name, tasks)
        return tasks if need_task_ids else None

    def _direct_lane(self, outlet: Outlet, task: int) -> Lane:
        lane = outlet.direct.get(task)
        if lane is None:
            msg = (
                f"{self._component!r} emitted on stream {outlet.name!r} directly to task {task},"
                f" which does not read it directly (known: {sorted(outlet.direct)})"
            )
            raise TopologyError(msg)
        return lane

    def _refusal(
        self, outlet: Outlet | None, row: tuple[Any, ...], stream: str, direct_task: int | None
    ) -> TopologyError:
        if get_ident() != self._thread[0]:
            return TopologyError(
                f"emit of {self._component!r} was called from another thread or process;"
                " hand the tuple to next_tuple or process through a queue"
            )
        if outlet is None:
            known = did_you_mean(stream, self._outlets) or "; it declares no outputs"
            return TopologyError(
                f"{self._component!r} emitted on stream {stream!r}, which it does not declare{known}"
            )
        if len(row) != outlet.width:
            fields = f"{outlet.width} fields {list(outlet.stream.fields)}"
            return TopologyError(
                f"{self._component!r} emitted {len(row)} values on stream {stream!r}, which has {fields}"
            )
        if direct_task is None:
            return TopologyError(
                f"stream {stream!r} of {self._component!r} is direct: give emit a direct_task"
            )
        return TopologyError(
            f"stream {stream!r} of {self._component!r} is not direct: emit without direct_task,"
            " or declare Stream(direct=True)"
        )
