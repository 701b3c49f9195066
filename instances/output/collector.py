"""emit() and emit_many(): from lists of values to rows in the lanes of the chosen tasks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from threading import get_ident
from typing import Any, NamedTuple

from heronpy.column_schema import arrow_schema, check_batch
from heronpy.instances.acking.anchored import Edges, EdgesOf, shared
from heronpy.instances.counters import Counters
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Row
from heronpy.instances.output.columns.row_fitting import RowFitting, UnfitError, unfit
from heronpy.instances.output.filling import fill, fill_columns
from heronpy.instances.output.groupings import make_grouping
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.instances.output.groupings.direct import Direct
from heronpy.instances.output.outbox import Outbox
from heronpy.instances.output.rerouting import Rerouting, Way
from heronpy.kernel.errors import TopologyError, TupleTooLarge, did_you_mean
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.flow.column_split import rows_of
from heronpy.kernel.plans import Component, DeclaredStream, Input, PhysicalPlan

#: called for every emit: values, stream, tasks
EmitHook = Callable[[Sequence[Any], str, list[int]], None]


class PlainWays(NamedTuple):
    """What the fast lane needs, to be held in local variables."""

    settled: frozenset[type]
    #: stream → tuples, as counted
    emitted: dict[str, int]
    #: the one thread that may emit
    thread: list[int]
    opened: Callable[[Lane], None]
    grown: Callable[[Lane], None]
    #: stream → number of values in a tuple, and its receivers; a stream that is not here is not plain
    choices: dict[str, tuple[int, Callable[[Row], Sequence[Lane]]]]


#: rows of a batch that are routed and counted at once, where no trees are tracked
MOST_IN_HAND = 1000
#: a lane, and the rows that it gets
Piece = tuple[Lane, Sequence[Row]]

#: no thread has this number
_NOBODY = 0


class Outlet:
    """One declared stream of this component, with all its consumers."""

    __slots__ = (
        "direct",
        "direct_only",
        "fitting",
        "groupings",
        "name",
        "number",
        "stream",
        "ways",
        "width",
        "widths",
    )

    def __init__(self, stream: DeclaredStream, number: int, ways: list[Way]) -> None:
        self.stream = stream
        #: in frames
        self.number = number
        self.name = stream.name
        self.width = len(stream.fields)
        self.widths = frozenset({self.width})
        self.direct_only = stream.direct
        #: fits rows to the schema of the stream, if it has one
        self.fitting = RowFitting(arrow_schema(stream.schema)) if stream.schema else None
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

    def check_columns(self, batch: Any, component: str) -> None:
        """TopologyError for what is no record batch with the schema of this stream."""
        if not self.stream.schema:
            msg = f"{component!r} emitted a batch on stream {self.name!r}, which declares no Schema"
            raise TopologyError(msg, hint="outputs = Schema(field=pa.string(), …)")
        check_batch(batch, arrow_schema(self.stream.schema), f"{component!r} emitted on stream {self.name!r}")

    def fitted(self, rows: list[Row], component: str) -> list[Row]:
        """The rows as their columns hold them; TopologyError for a value that does not fit."""
        assert self.fitting is not None
        try:
            return [self.fitting.row(rows[0])] if len(rows) == 1 else self.fitting.rows(rows)
        except UnfitError as error:
            msg = (
                f"{component!r} emitted a row on stream {self.name!r} that does not fit its Schema:"
                f" {unfit(error)}{_place(error.row, rows)}"
            )
            raise TopologyError(msg) from error

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
        #: the one thread that may emit; a list, so that the fast lane sees it change
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

    def put_back(
        self,
        before: PhysicalPlan,
        stream: str,
        consumer: str,
        task: int,
        make: Callable[[DeclaredStream], RowBatch | ColumnBatch],
    ) -> None:
        """Rows of a snapshot that were emitted and had not been sent: they leave first.

        They were for `task` of `consumer` by the plan `before`, and go to the task that receives them by the
        current plan. `make` gives them, frozen. Rows for a component or stream that no longer exists are
        dropped.
        """
        outlet = self._outlets.get(stream)
        way = next((way for way in outlet.ways if way.consumer == consumer), None) if outlet else None
        if outlet is not None and way is not None:
            batch = make(outlet.stream)
            Rerouting(self._outbox, before, {}, self.settle).queue(outlet.number, way, task, batch)

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
        """Route one tuple: a batch of one. Waits, with the sockets served, while a receiver gives no credit.

        Where trees are tracked, `edges_of` gives each copy of the tuple its place in them.
        """
        outlet, rows, frozen = self._checked([tuple(values)], stream, direct_task)
        if direct_task is not None:
            pieces: list[Piece] = [(self._direct_lane(outlet, direct_task), frozen)]
        else:
            pieces = _split(outlet, rows, frozen)
        self._emitted[stream] += 1
        self.leave(pieces, edges_of)
        if self._emit_hook is not None:
            self._emit_hook(rows[0], stream, _tasks(pieces))
        return _tasks(pieces) if need_task_ids else None

    def emit_many(self, batch: Iterable[Sequence[Any]], stream: str, edges_of: EdgesOf | None = None) -> None:
        """Route many tuples of one stream; all of them are checked before the first one leaves.

        Rows that have not left when the plan changes are routed again like all that waits.
        """
        _, rows, frozen = self._checked(list(map(tuple, batch)), stream, None)
        if edges_of is not None:  # they may be one tree
            self._emit_some(rows, frozen, stream, edges_of)
            return
        # Rows that wait in here are in no note of what a dead process may have held: few at a time.
        too_large: TupleTooLarge | None = None
        for begin in range(0, len(rows), MOST_IN_HAND):
            some = slice(begin, begin + MOST_IN_HAND)
            try:
                self._emit_some(rows[some], frozen[some], stream, None)
            except TupleTooLarge as error:
                too_large = too_large or error
        if too_large is not None:
            raise too_large

    def emit_batch(
        self, batch: Any, stream: str, direct_task: int | None = None, edges_of: EdgesOf | None = None
    ) -> None:
        """Route a record batch. What goes to one task is anchored as a whole, with one edge."""
        outlet = self._outlet(stream, direct_task)
        outlet.check_columns(batch, self._component)
        hook = self._emit_hook
        batches = [batch] if hook is None else [batch.slice(number, 1) for number in range(batch.num_rows)]
        routed = [self._split_columns(outlet, each, direct_task) for each in batches if each.num_rows]
        pieces = list(itertools.chain.from_iterable(routed))
        self._emitted[stream] += batch.num_rows
        edges = edges_of(len(pieces)) if edges_of is not None else itertools.repeat(None, len(pieces))
        columns = [(lane, ColumnBatch(rows, edge)) for (lane, rows), edge in zip(pieces, edges, strict=True)]
        fill_columns(self._outbox, columns)
        if hook is not None:
            for row, tasks in zip(rows_of(batch), routed, strict=True):
                hook(row, stream, [lane.channel.task for lane, _ in tasks])

    def _split_columns(self, outlet: Outlet, batch: Any, direct_task: int | None) -> list[tuple[Lane, Any]]:
        if direct_task is not None:
            return [(self._direct_lane(outlet, direct_task), batch)]
        return [piece for grouping in outlet.groupings for piece in grouping.split_columns(batch)]

    def _emit_some(self, rows: list[Row], frozen: list[Row], stream: str, edges_of: EdgesOf | None) -> None:
        outlet = self._outlets[stream]
        if self._emit_hook is None:
            routed = [_split(outlet, rows, frozen)]
        else:
            routed = [_split(outlet, [row], [sent]) for row, sent in zip(rows, frozen, strict=True)]
        self._emitted[stream] += len(rows)
        self.leave(list(itertools.chain.from_iterable(routed)), edges_of)
        if self._emit_hook is not None:
            for row, pieces in zip(rows, routed, strict=True):
                self._emit_hook(row, stream, _tasks(pieces))

    def plain_ways(self) -> PlainWays:
        """For functions of their own, because every look-up on self would be paid for by every tuple."""
        outbox = self._outbox
        return PlainWays(
            self._settled, self._emitted, self._thread, outbox.opened, outbox.grown, self._plain_choices
        )

    def fits(self) -> dict[str, Callable[[Sequence[Any]], Row]]:
        """For streams with a Schema, what fits a row to it; `plain_ways` takes rows that fit."""
        return {name: outlet.fitting.row for name, outlet in self._outlets.items() if outlet.fitting}

    def tell_of_emits(self, hook: EmitHook) -> None:
        """Call this hook for every tuple; from now on none of them uses the fast lane."""
        self._emit_hook = hook
        self._plain_choices.clear()

    def _checked(
        self, rows: list[Row], stream: str, direct_task: int | None
    ) -> tuple[Outlet, list[Row], list[Row]]:
        """The stream, the rows, and these as they are now: a component may change a list after emit()."""
        outlet = self._outlet(stream, direct_task)
        if not outlet.widths.issuperset(map(len, rows)):
            raise self._wrong_width(outlet, rows)
        if outlet.fitting is not None:
            rows = outlet.fitted(rows, self._component)
        settled = self._settled
        if settled.issuperset(map(type, itertools.chain.from_iterable(rows))):
            return outlet, rows, rows
        frozen = [row if settled.issuperset(map(type, row)) else self._freeze(row) for row in rows]
        return outlet, rows, frozen

    def _outlet(self, stream: str, direct_task: int | None) -> Outlet:
        outlet = self._outlets.get(stream)
        if outlet is None or get_ident() != self._thread[0] or (direct_task is None) is outlet.direct_only:
            raise self._refusal(outlet, stream, direct_task)
        return outlet

    def leave(self, pieces: Sequence[Piece], edges_of: EdgesOf | None) -> None:
        """Put rows into their lanes, the rows of each piece with one place in the trees."""
        edges: Sequence[Edges] | None = None
        if edges_of is not None:
            pieces = [piece for piece in pieces if piece[1]]
            edges = edges_of(len(pieces))
        too_large: TupleTooLarge | None = None
        for number, (lane, rows) in enumerate(pieces):
            anchors = shared(edges[number], len(rows)) if edges is not None else []
            try:
                fill(self._outbox, lane, rows, anchors)
            except TupleTooLarge as error:
                too_large = too_large or error
        if too_large is not None:
            raise too_large

    def _direct_lane(self, outlet: Outlet, task: int) -> Lane:
        lane = outlet.direct.get(task)
        if lane is None:
            msg = (
                f"{self._component!r} emitted on stream {outlet.name!r} directly to task {task},"
                f" which does not read it directly (known: {sorted(outlet.direct)})"
            )
            raise TopologyError(msg)
        return lane

    def _refusal(self, outlet: Outlet | None, stream: str, direct_task: int | None) -> TopologyError:
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
        if direct_task is None:
            return TopologyError(
                f"stream {stream!r} of {self._component!r} is direct: give emit a direct_task"
            )
        return TopologyError(
            f"stream {stream!r} of {self._component!r} is not direct: emit without direct_task,"
            " or declare Stream(direct=True)"
        )

    def _wrong_width(self, outlet: Outlet, rows: list[Row]) -> TopologyError:
        number = next(number for number, row in enumerate(rows) if len(row) != outlet.width)
        fields = f"{outlet.width} fields {list(outlet.stream.fields)}"
        return TopologyError(
            f"{self._component!r} emitted {len(rows[number])} values on stream {outlet.name!r},"
            f" which has {fields}{_place(number, rows)}"
        )


def _place(number: int, rows: list[Row]) -> str:
    return f"; it was row {number} of a batch of {len(rows)}" if len(rows) > 1 else ""


def _split(outlet: Outlet, rows: list[Row], frozen: list[Row]) -> list[Piece]:
    return [piece for grouping in outlet.groupings for piece in grouping.split(rows, frozen)]


def _tasks(pieces: Sequence[Piece]) -> list[int]:
    """The task of each copy."""
    return [lane.channel.task for lane, rows in pieces for _ in rows]
