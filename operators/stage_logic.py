"""The steps of one stage put together: rows in, rows out, the end of input; no runner, no network."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from heronpy.operators import at_the_end, stateless, timed_steps
from heronpy.operators.event_timing import EventTiming, SplitTime
from heronpy.operators.failing import Failing
from heronpy.operators.flowing import Out, at_once, to_all
from heronpy.operators.per_key import Deduplicating, Keeper, Processing, Rolling, States, checked_key
from heronpy.operators.stage_edges import Edge, edge_of
from heronpy.operators.stage_watermarks import StageWatermarks
from heronpy.operators.timed_processing import TimedProcessing, keeps_cells
from heronpy.operators.windows.window_partials import WindowPartials
from heronpy.operators.windows.windowing import Windowing, core_of, rules_of
from heronpy.pipeline.graph import (
    ENDS,
    ERRORS,
    LATE,
    MAIN,
    MATCHING,
    OTHERS,
    AggregateOp,
    CoGroupOp,
    DedupOp,
    EventTimeOp,
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
    WindowOp,
)
from heronpy.pipeline.times import BEGINNING


class StageLogic:
    """What one task of a stage does.

    `take` and `end` push rows through all steps. What leaves the stage goes to what `leaving` returns for its
    edge, at once; without `leaving` it is in `outbox` until it is fetched. `ends` has a function
    for each sink or table of the stage, `tables` the rows of each hash join's table. `state_of` gives the
    mapping in which a step with state keeps it; by default a dict.

    Event time: `clock` says how late it is, `read`, `arrives`, `nothing` and `over` what a source does, and
    `advance` how far another stage has come; `fetch_watermarks` has what the stages behind must know. A
    runner whose tasks share the keys says `advance_all` and tells the readers the `lowest`, or what `further`
    has for them; where the watermarks of keys differ it says so by `judge_by`, and `reload` when keys have
    come or gone.
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
        #: those that give records their event time, and those that have windows
        self._timings: dict[str, EventTiming] = {}
        self._windows: dict[str, Windowing] = {}
        #: what goes by processing time
        self._clocks: list[Callable[[int], None]] = []
        #: what waits for event time, by key
        self._waiting: list[Windowing | TimedProcessing] = []
        self._lingering: list[WindowPartials] = []
        self._watermarks = StageWatermarks(graph, stage)
        #: how far all that the stage reads has come
        self.floor = BEGINNING
        self._failing: list[Failing] = []
        #: what steps do at the end of the input, those behind first
        self._endings: list[Callable[[], None]] = []
        steps = [step for step in graph.steps if step.stage == stage]
        for step in reversed(steps):  # a step hands on to those behind it
            self._add(step)

    def take(self, step: str, slot: int, rows: Sequence[Any]) -> None:
        """Rows for a step, on one of its sides."""
        self._runs[step](slot, rows)

    def end(self) -> None:
        """The end of all inputs: steps that wait for it speak, those in front first."""
        for ending in reversed(self._endings):
            ending()

    def clock(self, now: int) -> None:
        """It is so late, in microseconds since the epoch: what is due is done."""
        at_once(self.clocking(now))

    def clocking(self, now: int) -> Iterator[None]:
        """The same, with pauses: many keys may have something to say. Meanwhile the stage takes nothing."""
        for tell in self._clocks:
            tell(now)
        for waiting in self._waiting:
            yield from waiting.clocking(now)
        for timing in self._timings.values():
            timing.clock(now)

    def tell(self, now: int) -> None:
        """It is so late; what is due for keys waits for `clocking`."""
        for tell in self._clocks:
            tell(now)
        for timing in self._timings.values():
            timing.clock(now)

    @property
    def goes_by_clock(self) -> bool:
        """Whether a step must be told how late it is."""
        return bool(self._clocks or self._timings)

    @property
    def gives_time(self) -> bool:
        """Whether a step gives records their event time."""
        return bool(self._timings)

    @property
    def reads_time(self) -> bool:
        """Whether a step goes by the event time of another stage."""
        return self._watermarks.reads_time

    @property
    def due(self) -> int | None:
        """The processing time for which a step waits."""
        times = (step.due for step in (*self._waiting, *self._lingering, *self._timings.values()))
        return min((time for time in times if time is not None), default=None)

    def read(self, splits: Sequence[str], saved: Mapping[str, Mapping[str, SplitTime]] | None = None) -> None:
        """The stage has a source with these splits. `saved`: split → what `split_times` said of it."""
        self._watermarks.rebase()
        for step, timing in self._timings.items():
            own = {split: times[step] for split, times in (saved or {}).items() if step in times}
            timing.read(splits, own)

    def share_anew(self) -> None:
        """The task gets other records than before, and follows those of no split."""
        self._watermarks.rebase()
        for timing in self._timings.values():
            timing.share_anew()

    def held_by(self) -> str | None:
        """The split that keeps event time back, in words."""
        return next(filter(None, (timing.held_by() for timing in self._timings.values())), None)

    def split_times(self, split: str) -> dict[str, SplitTime]:
        """How far a split has come, for each step that follows it: to be saved with its position."""
        return {step: timing.time_of(split) for step, timing in self._timings.items()}

    def arrives(self, split: str, watermark: int | None, *, caught_up: bool) -> None:
        """The rows that follow are of this split; what its source knows of its event time."""
        for timing in self._timings.values():
            timing.arrives(split, watermark, caught_up)

    def settle(self, split: str) -> None:
        """What a split has given without records may be news of its event time."""
        for timing in self._timings.values():
            timing.settle(split)

    def nothing(self, splits: Iterable[str]) -> None:
        """The source was asked, and these splits had nothing."""
        for timing in self._timings.values():
            timing.nothing(splits)

    def waiting(self) -> dict[str, str]:
        """The splits that are so far ahead of others that they are not to be read, each with a sentence.

        Of several steps that give event time all must say so, else each could wait for another.
        """
        first, *others = [timing.waiting() for timing in self._timings.values() if timing.limited] or [{}]
        return {split: why for split, why in first.items() if all(split in other for other in others)}

    def over(self, split: str) -> None:
        """A split has ended."""
        for timing in self._timings.values():
            timing.over(split)

    def advance(self, step: str, edge: Edge, watermark: int, *, idle: bool = False) -> None:
        """An edge that a step reads has come so far in event time."""
        at_once(self._watermarks.advance(step, edge, watermark, idle=idle))

    def advance_all(self, watermark: int, *, idle: bool = False) -> None:
        """All that the stage reads has come so far, for all keys; less than before, if it has got others."""
        at_once(self.advancing_all(watermark, idle=idle))

    def advancing_all(self, watermark: int, *, idle: bool = False) -> Iterator[None]:
        """The same, with pauses: many keys may have something to say. Meanwhile the stage takes nothing."""
        if watermark < self.floor:
            self._watermarks.rebase()
        self.floor = watermark
        yield from self._watermarks.advance_all(watermark, idle=idle)

    @property
    def lowest(self) -> tuple[int, bool] | None:
        """How far all that leaves the stage has come, and whether it is idle; None: it has no event time."""
        low = self._watermarks.lowest
        return (low.value, low.idle) if self._watermarks.has_time else None

    @property
    def further(self) -> dict[str, tuple[int, bool]]:
        """The stages behind that need not wait for the lowest: those that do not read what is behind."""
        return self._watermarks.further

    def judge_by(self, of_key: Callable[[Hashable], int] | None) -> None:
        """The watermark of each key, where keys are ahead of what `advance_all` said; None: none is."""
        for waiting in self._waiting:
            waiting.of_key = of_key

    def reload(self) -> None:
        """The runner has put states in or taken some out: steps find anew what waits for what."""
        for waiting in self._waiting:
            waiting.reload()

    def fetch_watermarks(self) -> Iterable[tuple[Edge, tuple[int, bool]]]:
        """How far the edges that leave the stage have come, if that is new: behind what `fetch` gives."""
        return self._watermarks.fetch()

    @property
    def late_dropped(self) -> dict[str, int]:
        """Steps with windows, and how many records came too late for them."""
        return {name: step.late.dropped for name, step in self._windows.items()}

    @property
    def late(self) -> dict[str, str]:
        """Steps that dropped late records, and a sentence that says how many and what would keep them."""
        return {name: step.late.line(name) for name, step in self._windows.items() if step.late.dropped}

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
        by_record = step.timed and isinstance(step.op, RollingOp)
        stamping = timed_steps.Stamping() if by_record else None
        aside = self._out(step, ERRORS, stamping) if step.on_error == "aside" else None
        failing = Failing(step, aside)
        self._failing.append(failing)
        run = self._run_of(step, failing, stamping)
        if self._reads_time(step) and (not step.timed or isinstance(step.op, EventTimeOp)):
            run = timed_steps.plain(_is_keyed(step), run)
        self._runs[step.name] = run

    def _run_of(
        self, step: Step, failing: Failing, stamping: timed_steps.Stamping | None
    ) -> Callable[[int, Sequence[Any]], None]:
        """What a step does with rows of one of its sides."""
        out = self._out(step, MAIN, stamping)
        if isinstance(step.op, EventTimeOp):
            timing = EventTiming(step.op, out, failing, functools.partial(self._say, step.name))
            self._timings[step.name] = timing
            self._endings.append(timing.end)
            return timing.take
        keeper = self._keeper(step, out, failing, stamping)
        if keeper is None:
            stateless_run = self._stateless(step, out, failing)
            return lambda _, rows: stateless_run(rows)
        self.keepers[step.name] = keeper
        self._endings.append(keeper.end)
        if isinstance(step.op, PartialOp):
            self._partials.append(keeper)
        take = keeper.take if stamping is None else stamping.one_by_one(keeper)
        return _with_sound_keys(take, failing)

    def _say(self, step: str, watermark: int, idle: bool) -> None:
        at_once(self._watermarks.say(step, watermark, idle))

    def _reads_time(self, step: Step) -> bool:
        return any(self._graph[read.step].timed for read in step.inputs)

    def _keeper(
        self, step: Step, out: Out, failing: Failing, stamping: timed_steps.Stamping | None
    ) -> Keeper | None:
        match step.op:
            case ProcessOp() as op:
                tags = {read.output for _, read in self._graph.readers(step.name)} - {MAIN, ERRORS}
                sides = {tag.removeprefix("tag:"): self._out(step, tag, stamping) for tag in tags}
                if not keeps_cells(step):
                    return Processing(op, out, sides, failing, self._state_of(step))
                timed = TimedProcessing(op, out, sides, failing, self._state_of(step), timed=step.timed)
                self._clocks.append(timed.tell)
                self._waiting.append(timed)
                self._watermarks.listen(step.name, timed.advancing)
                return timed
            case RollingOp(aggregate=aggregate):
                return Rolling(aggregate, out, failing, self._state_of(step))
            case DedupOp():
                return Deduplicating(out, failing, self._state_of(step))
            case AggregateOp(aggregate=aggregate, keyed=keyed):
                return at_the_end.aggregating(aggregate, out, failing, self._state_of(step), keyed=keyed)
            case PartialOp() as partial:
                return self._partial(step, partial, out, failing)
            case FinalOp(aggregate=aggregate, keyed=keyed):
                return at_the_end.finally_(aggregate, out, failing, self._state_of(step), keyed=keyed)
            case CoGroupOp(how=how):
                return at_the_end.CoGrouping(how, out, failing, self._state_of(step))
            case WindowOp():
                return self._windowing(step, step.op, out, failing)
        return None

    def _partial(self, step: Step, op: PartialOp, out: Out, failing: Failing) -> Keeper:
        if op.window is None:
            return at_the_end.partially(op.aggregate, out, failing, keyed=op.keyed)
        partials = WindowPartials(op.window, out, failing)
        self._clocks.append(partials.clock)
        self._lingering.append(partials)
        self._watermarks.listen(step.name, partials.advance, partials.end)
        return partials

    def _windowing(self, step: Step, op: WindowOp, out: Out, failing: Failing) -> Windowing:
        is_read = any(read.output == LATE for _, read in self._graph.readers(step.name))
        late = self._out(step, LATE) if is_read else None
        core = core_of(rules_of(op), retractions=bool(step.retracted))
        windowing = Windowing(op, core, out, late, failing, self._state_of(step))
        self._windows[step.name] = windowing
        self._clocks.append(windowing.tell)
        self._waiting.append(windowing)
        self._watermarks.listen(step.name, windowing.advancing)
        return windowing

    def _stateless(self, step: Step, out: Out, failing: Failing) -> Out:
        op = timed_steps.timed(step.op) if step.timed else step.op
        if isinstance(op, HashJoinOp) and step.timed:
            out = timed_steps.joined(out)
        match op:
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
            case HashJoinOp():
                table = stateless.table_of(self._tables[step.name], op, failing)
                return stateless.hash_joined(op, table, out, failing)
            case MapAsyncOp() if self._awaiting is not None:
                return self._awaiting(dataclasses.replace(step, op=op), out, failing)
        assert isinstance(step.op, ENDS), step.op
        return self._ends[step.name]

    def _kinds(self, step: Step) -> stateless.Kinds | None:
        """The classes of the `only` in front of a map or filter that tests them itself; None: it does not."""
        if step.timed or step.on_error != "fail" or len(step.inputs) > 1:
            return None  # a stamped record is of no class of the user's
        if not isinstance(step.op, MapOp | FilterOp):
            return None
        (read,) = step.inputs
        before = self._graph[read.step]
        fits = before.stage == step.stage and len(list(self._graph.readers(before.name))) == 1
        return stateless.wanted(before.op) if fits and isinstance(before.op, OnlyOp) else None

    def _out(self, step: Step, output: str = MAIN, stamping: timed_steps.Stamping | None = None) -> Out:
        """Where the rows of an output go: to steps of this stage, and onto edges to other stages."""
        outs: list[Out] = []
        for reader, read in self._graph.readers(step.name):
            if read.output != output:
                continue
            target = self._inside(reader, read) if reader.stage == step.stage else self._edge(read)
            if target is not None and read.key is not None:
                target = stateless.keyed(timed_steps.timed_key(read.key) if step.timed else read.key, target)
            if target is not None:
                outs.append(target)
        return to_all(outs) if stamping is None else stamping.out(to_all(outs))

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


def _is_keyed(step: Step) -> bool:
    return any(read.key is not None for read in step.inputs)


def _with_sound_keys(
    run: Callable[[int, Sequence[Any]], None], failing: Failing
) -> Callable[[int, Sequence[Any]], None]:
    """A key without a hash fails where it is looked up: the error shall be about the key."""

    def take(slot: int, rows: Sequence[Any]) -> None:
        try:
            run(slot, rows)
        except TypeError:
            for key, _ in rows:
                checked_key(key, failing)
            raise

    return take
