"""The steps of one stage put together: rows in, rows out, the end of input; no runner, no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from heronpy.operators import at_the_end, stateless
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out, to_all
from heronpy.operators.per_key import Deduplicating, Keeper, Processing, Rolling, States, checked_key
from heronpy.pipeline.graph import (
    ENDS,
    ERRORS,
    MAIN,
    MATCHING,
    OTHERS,
    AggregateOp,
    CoGroupOp,
    DedupOp,
    FilterOp,
    FinalOp,
    FlatMapOp,
    Graph,
    HashJoinOp,
    MapAsyncOp,
    MapOp,
    OnlyOp,
    PartialOp,
    PartitionOp,
    ProcessOp,
    ReadOp,
    RollingOp,
    Step,
    StepInput,
)


class Edge(NamedTuple):
    """Rows that leave a stage: an output of a step, with the key that its readers want."""

    step: str
    output: str
    key: str


def edge_of(read: StepInput) -> Edge:
    return Edge(read.step, read.output, read.key.step if read.key is not None else "")


class StageLogic:
    """What one task of a stage does.

    `take` and `end` push rows through all steps. What leaves the stage goes to what `leaving` returns for its
    edge, at once; without `leaving` it is in `outbox` until it is fetched. `ends` has a function
    for each sink or table of the stage, `tables` the rows of each hash join's table. `state_of` gives the
    mapping in which a step with state keeps it; by default a dict.
    """

    def __init__(
        self,
        graph: Graph,
        stage: str,
        *,
        tables: Mapping[str, Sequence[Any]] | None = None,
        ends: Mapping[str, Out] | None = None,
        awaiting: Callable[[Step, Out, Failing], Out] | None = None,
        leaving: Callable[[Edge], Out] | None = None,
        state_of: Callable[[Step], States] = lambda _: {},
    ) -> None:
        self._graph, self._tables, self._ends, self._awaiting = graph, tables or {}, ends or {}, awaiting
        #: what leaves the stage, in the order in which it was made
        self.outbox: dict[Edge, list[Any]] = {}
        self._leaving, self._state_of = leaving, state_of
        self._runs: dict[str, Callable[[int, Sequence[Any]], None]] = {}
        #: the steps that keep something between records, by name, the last first
        self.keepers: dict[str, Keeper] = {}
        self._partials: list[Keeper] = []
        self._failing: list[Failing] = []
        steps = [step for step in graph.steps if step.stage == stage]
        for step in reversed(steps):  # a step hands on to those behind it
            self._add(step)

    def take(self, step: str, slot: int, rows: Sequence[Any]) -> None:
        """Rows for a step, on one of its sides."""
        self._runs[step](slot, rows)

    def end(self) -> None:
        """The end of all inputs: steps that wait for it speak, those in front first."""
        for keeper in reversed(self.keepers.values()):
            keeper.end()

    def flush(self) -> None:
        """Hand on what partial aggregates hold: before a snapshot, which must not need it."""
        for keeper in self._partials:
            keeper.end()

    def fetch(self) -> dict[Edge, list[Any]]:
        """What leaves the stage, once."""
        rows = {edge: box[:] for edge, box in self.outbox.items() if box}
        for edge in rows:
            self.outbox[edge].clear()  # the list itself stays: steps hold on to its `extend`
        return rows

    @property
    def failed(self) -> dict[str, int]:
        """Records that steps skipped or set aside."""
        return {failing.name: failing.failed for failing in self._failing if failing.failed}

    def _add(self, step: Step) -> None:
        aside = self._out(step, ERRORS) if step.on_error == "aside" else None
        failing = Failing(step, aside)
        self._failing.append(failing)
        out = self._out(step)
        keeper = self._keeper(step, out, failing)
        if keeper is not None:
            self.keepers[step.name] = keeper
            if isinstance(step.op, PartialOp):
                self._partials.append(keeper)
            self._runs[step.name] = _with_sound_keys(keeper, failing)
        else:
            run = self._stateless(step, out, failing)
            self._runs[step.name] = lambda _, rows: run(rows)

    def _keeper(self, step: Step, out: Out, failing: Failing) -> Keeper | None:
        match step.op:
            case ProcessOp() as op:
                tags = {read.output for _, read in self._graph.readers(step.name)} - {MAIN, ERRORS}
                sides = {tag.removeprefix("tag:"): self._out(step, tag) for tag in tags}
                return Processing(op, out, sides, failing, self._state_of(step))
            case RollingOp(aggregate=aggregate):
                return Rolling(aggregate, out, failing, self._state_of(step))
            case DedupOp():
                return Deduplicating(out, failing, self._state_of(step))
            case AggregateOp(aggregate=aggregate, keyed=keyed):
                return at_the_end.aggregating(aggregate, out, failing, self._state_of(step), keyed=keyed)
            case PartialOp(aggregate=aggregate, keyed=keyed):
                return at_the_end.partially(aggregate, out, failing, keyed=keyed)
            case FinalOp(aggregate=aggregate, keyed=keyed):
                return at_the_end.finally_(aggregate, out, failing, self._state_of(step), keyed=keyed)
            case CoGroupOp(how=how):
                return at_the_end.CoGrouping(how, out, failing, self._state_of(step))
        return None

    def _stateless(self, step: Step, out: Out, failing: Failing) -> Out:
        match step.op:
            case ReadOp():
                return out
            case MapOp(fn=fn):
                return stateless.mapped(fn, out, failing, self._kinds(step))
            case FilterOp(fn=fn):
                return stateless.filtered(fn, out, failing, self._kinds(step))
            case FlatMapOp(fn=flat):
                return stateless.flat_mapped(flat, out, failing)
            case OnlyOp() as op:
                readers = [reader for reader, _ in self._graph.readers(step.name)]
                taken_over = len(readers) == 1 and self._kinds(readers[0]) is not None
                return out if taken_over else stateless.only(stateless.wanted(op), out)
            case PartitionOp(fn=fn):
                others = self._out(step, OTHERS)
                return stateless.partitioned(fn, self._out(step, MATCHING), others, failing)
            case HashJoinOp() as op:
                table = stateless.table_of(self._tables[step.name], op, failing)
                return stateless.hash_joined(op, table, out, failing)
            case MapAsyncOp() if self._awaiting is not None:
                return self._awaiting(step, out, failing)
        assert isinstance(step.op, ENDS), step.op
        return self._ends[step.name]

    def _kinds(self, step: Step) -> stateless.Kinds | None:
        """The classes of the `only` in front of a map or filter that tests them itself; None: it does not."""
        if not isinstance(step.op, MapOp | FilterOp) or step.on_error != "fail" or len(step.inputs) > 1:
            return None
        (read,) = step.inputs
        before = self._graph[read.step]
        fits = before.stage == step.stage and len(list(self._graph.readers(before.name))) == 1
        return stateless.wanted(before.op) if fits and isinstance(before.op, OnlyOp) else None

    def _out(self, step: Step, output: str = MAIN) -> Out:
        """Where the rows of an output go: to steps of this stage, and onto edges to other stages."""
        outs: list[Out] = []
        for reader, read in self._graph.readers(step.name):
            if read.output != output:
                continue
            target = self._inside(reader, read) if reader.stage == step.stage else self._edge(read)
            if target is not None:
                outs.append(stateless.keyed(read.key, target) if read.key is not None else target)
        return to_all(outs)

    def _inside(self, reader: Step, read: StepInput) -> Out:
        run, slot = self._runs[reader.name], read.slot
        return lambda rows: run(slot, rows)

    def _edge(self, read: StepInput) -> Out | None:
        """None if another reader has brought the edge into being."""
        edge = edge_of(read)
        if edge in self.outbox:
            return None
        box = self.outbox[edge] = []
        return box.extend if self._leaving is None else self._leaving(edge)


def _with_sound_keys(keeper: Keeper, failing: Failing) -> Callable[[int, Sequence[Any]], None]:
    """A key without a hash fails where it is looked up: the error shall be about the key."""

    def take(slot: int, rows: Sequence[Any]) -> None:
        try:
            keeper.take(slot, rows)
        except TypeError:
            for key, _ in rows:
                checked_key(key, failing)
            raise

    return take
