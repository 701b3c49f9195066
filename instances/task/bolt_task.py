"""Runs one bolt: decodes frames, calls process, grants credit for consumed tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heronpy.bolt import takes_origin
from heronpy.instances.acking.anchored import joining, only_anchor
from heronpy.instances.excerpts import shown
from heronpy.instances.execution.turn import Turn
from heronpy.instances.input.inflow import InboxItem, QueuedEnd, QueuedFrame, QueuedWatermark
from heronpy.instances.output.fast_lane import fast_lane
from heronpy.instances.poison.guard import Guard, Halted, Unguarded
from heronpy.instances.poison.mark import BUSY, IDLE
from heronpy.instances.saving.snapshot import Snapshots
from heronpy.instances.saving.task_end import TaskEnd
from heronpy.instances.task.log_level import log_level
from heronpy.instances.task.pace import LONG, Pace
from heronpy.instances.task.received import OpenWhole, open_columns, open_rows, open_tuples, stream_kinds
from heronpy.instances.task.timing import MICROSECONDS, Timing
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.column_split import rows_of
from heronpy.kernel.flow.frame import Prefix
from heronpy.kernel.flow.signals import Barrier, Cut, Marker
from heronpy.tuple import Tuple, TupleHelper

if TYPE_CHECKING:
    from heronpy.bolt import Bolt
    from heronpy.context import TopologyContext
    from heronpy.instances.task.build import TaskWiring

#: how long a bolt without input sleeps when nothing wakes it, while receivers have not reported all progress
_IDLE = 0.5
#: … and when they have
_QUIET = 5.0
#: … and while something of its own waits for credit
_HELD_UP = 0.02
#: calls of process() between two looks at the clock, which costs as much as a short call
_CALLS_PER_LOOK = 8


class BoltDelegate:
    """What the user's bolt emits, acks and fails through."""

    def __init__(self, parts: TaskWiring) -> None:
        self._collector = parts.collector
        self._fast_emit = fast_lane(parts.collector)
        self._acks = parts.acks
        #: whether what it emits may join the trees of its anchors: some task reads it
        self._anchors = parts.acks is not None and not ends_here(parts)
        self._counters = parts.counters
        self._clock = parts.clock
        self._wall = parts.wall
        self.logger = parts.logger
        self.open_state = parts.open_state
        self._following = parts.outbox.following
        self._input_time = parts.input_time
        self._inflow = parts.inflow
        self.watermark_of = parts.input_time.of_key
        #: set when there are task hooks to call for acks and fails
        self.hooks: TopologyContext | None = None
        #: when the tuple in hand was begun
        self.begun = 0.0

    def emit(
        self,
        tup: Any,
        stream: str = "default",
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        plain = direct_task is None and not need_task_ids
        if not self._anchors:
            if plain and self._fast_emit(tup, stream):
                return None
            return self._collector.emit(tup, stream, direct_task, need_task_ids)
        anchor = only_anchor(anchors) if plain else None
        if anchor is not None and self._fast_emit(tup, stream, anchor):
            return None
        return self._collector.emit(tup, stream, direct_task, need_task_ids, joining(anchors or ()))

    def emit_many(
        self,
        rows: Iterable[Sequence[Any]],
        stream: str = "default",
        anchors: Iterable[Tuple] | None = None,
    ) -> None:
        self._collector.emit_many(rows, stream, joining(anchors or ()) if self._anchors else None)

    def emit_batch(
        self,
        batch: Any,
        stream: str = "default",
        anchors: Iterable[Tuple] | None = None,
        direct_task: int | None = None,
    ) -> None:
        edges_of = joining(anchors or ()) if self._anchors else None
        self._collector.emit_batch(batch, stream, direct_task, edges_of)

    def ack(self, tup: Tuple) -> None:
        self._counters.acked += 1
        if self._acks is not None:
            self._acks.ack(tup.id)
        if self.hooks is not None:
            self.hooks.invoke_hook_bolt_ack(tup, 1000 * (self._clock() - self.begun))

    def fail(self, tup: Tuple) -> None:
        self._counters.failed += 1
        if self._acks is not None:
            self._acks.fail(tup.id)
        if self.hooks is not None:
            self.hooks.invoke_hook_bolt_fail(tup, 1000 * (self._clock() - self.begun))

    def shortest_ack(self) -> Callable[[Tuple], None]:
        """ack() without indirection, for as long as there are no hooks to call."""
        return self._acks.short_ack(self._counters) if self._acks is not None else self.ack

    def processing_time(self) -> int:
        """Microseconds since 1970."""
        return round(self._wall() * MICROSECONDS)

    def emit_watermark(
        self, at: int, idle: bool = False, further: Mapping[str, tuple[int, bool]] | None = None
    ) -> None:
        self._following.emit_watermark(at, idle=idle, further=further)

    @property
    def has_input(self) -> bool:
        """Whether anything has come that has not been taken."""
        return self._inflow.has_input

    @property
    def watermarks_differ(self) -> bool:
        return self._input_time.differs

    def log(self, message: object, level: str | None = None) -> None:
        self.logger.log(log_level(level), "%s", message)


def ends_here(parts: TaskWiring) -> bool:
    """Whether no task reads what a task emits: so in every plan, since only tasks come and go."""
    return not parts.plan.downstream_of(parts.context.get_component_id())


class BegunFrame:
    """A frame some of whose tuples may have been processed: no cut or marker behind it has been taken yet."""

    __slots__ = ("done", "prefix", "tuples")

    def __init__(self, prefix: Prefix, tuples: list[Tuple]) -> None:
        self.prefix = prefix
        self.tuples = tuples
        self.done = 0


class BoltTask:
    """One turn: what is due, then one frame or as much of it as takes about a millisecond."""

    def __init__(
        self,
        bolt: Bolt,
        delegate: BoltDelegate,
        parts: TaskWiring,
        guard: Guard | Unguarded,
        end: TaskEnd,
    ) -> None:
        self._bolt = bolt
        self._end = end
        self._guard = guard
        self._delegate = delegate
        self._parts = parts
        self._pace = Pace()
        self._process: Callable[[Tuple], None] = bolt.process
        self._process_batch = getattr(bolt, "process_batch", None)
        #: then no lane can be above its limit
        self._ends_here = ends_here(parts)
        self.timing = Timing(bolt, parts)
        #: opens a frame for a bolt that takes all its rows at once, as one tuple that stands for them
        self._open_whole: OpenWhole | None = None
        for name, opening in (("process_columns", open_columns), ("process_rows", open_rows)):
            if self._open_whole is None and (whole := getattr(bolt, name, None)) is not None:
                self._open_whole = opening
                self._process, self._process_batch = _whole_calls(whole), None
        #: what is saved of the task, if anything is
        self.saving: Snapshots | None = None
        #: whether the bolt must not be called, because its state is being moved between tasks
        self.resting = False
        #: whether it has stopped before a poison tuple
        self.halted = False
        self._owes_tick = False
        #: the frame in hand, if some of its tuples are still to be processed
        self._begun: BegunFrame | None = None
        #: when the last turn ended, if for want of credit and with input left
        self._blocked_at: float | None = None
        #: called with the epoch of a marker when all input before it has been processed
        self.on_mark: Callable[[int], None] = lambda _: None
        #: by the number of the stream
        self._kinds = stream_kinds(parts.plan)

    def use_hooks(self) -> None:
        """Call the task hooks for every tuple. Costs two clock readings each, so only if there are hooks."""
        context, delegate, process = self._parts.context, self._delegate, self._process
        clock = self._parts.clock
        delegate.hooks = context

        def hooked(tup: Tuple) -> None:
            delegate.begun = clock()
            process(tup)
            context.invoke_hook_bolt_execute(tup, 1000 * (clock() - delegate.begun))

        self._process = hooked

    def on_refused(self, told: Callable[[str], None]) -> None:
        """Call `told` for each tuple that is not processed because it kills the task."""
        if isinstance(self._guard, Guard):
            self._guard.on_refused = told

    def start_ticks(self, seconds: float) -> None:
        self._parts.schedule.every(seconds, self._tick, getattr(self._bolt, "first_tick_secs", None))

    def _tick(self) -> None:
        self._owes_tick = self.resting or bool(self._parts.outbox.overfull)
        if not self._owes_tick and not self.halted and not self._end.over:
            self._parts.counters.other_calls += 1
            self._bolt.process_tick(TupleHelper.make_tick_tuple())

    def set_live(self, active: bool) -> None:
        """A bolt continues to process while the topology is paused."""

    def turn(self) -> Turn:
        parts = self._parts
        if self._blocked_at is not None:
            parts.counters.waiting_seconds += parts.clock() - self._blocked_at
            self._blocked_at = None
        parts.schedule.run_due()
        unsaved = self.saving is not None and self.saving.work()
        if self._owes_tick:
            self._tick()
        if self._may_call_due:
            self.timing.call_due()
        turn = self._work()
        self.timing.look()
        if parts.acks is not None and (parts.link.stopping or self.halted or not self.has_input):
            parts.acks.flush()
        owes_tick = self._owes_tick and not self.resting and not parts.outbox.overfull
        return Turn.MORE if unsaved or owes_tick else turn

    @property
    def has_input(self) -> bool:
        """Whether there is something to process or to take a snapshot for."""
        return self._begun is not None or self.timing.busy or bool(self._parts.inflow.inbox)

    def patience(self) -> float:
        """Seconds until the next turn, if nothing comes before."""
        outbox = self._parts.outbox
        if outbox.waiting:
            return self.until_due(_HELD_UP)
        longest = _QUIET if outbox.settling.quiet else _IDLE
        return self.until_due(self._parts.inflow.patience(self._parts.clock(), longest))

    def until_due(self, longest: float) -> float:
        """Seconds until something is due by a clock."""
        longest = self._parts.schedule.patience(longest)
        return self.timing.patience(longest, may_call=self._may_call_due)

    @property
    def _may_call_due(self) -> bool:
        return not (self.resting or self.halted or self.timing.busy or self._parts.outbox.overfull)

    def _work(self) -> Turn:
        parts = self._parts
        if self.resting or self.halted or not self.has_input:
            return self._pass_time()
        if parts.outbox.overfull and not self._may_go_on():
            self._blocked_at = parts.clock()
            return Turn.BLOCKED
        if self.timing.busy:  # perhaps in the middle of a frame, of which nothing is taken before
            self.timing.go_on()
        elif self._begun is not None:
            self._go_on(self._begun)
        else:
            item = parts.inflow.inbox.popleft()
            self._take(item)
            if isinstance(item, QueuedFrame) and self._is_drained():
                return self._pass_time()
        parts.outbox.flush_due()
        return Turn.MORE

    def _is_drained(self) -> bool:
        """Whether a frame was the last for now: the next turn would show it, and cost as much as a tuple."""
        if self.has_input or self.halted:
            return False
        if self._parts.outbox.waiting:
            self._parts.link.pump(0)
        return not self.has_input

    def _pass_time(self) -> Turn:
        """There is no input, or none that may be taken: send what can be sent, and grant what is due."""
        parts = self._parts
        parts.outbox.flush()
        parts.outbox.probe()
        if self.resting or self.halted:
            parts.inflow.grant_all()
        else:
            parts.inflow.grant_due(parts.clock())
        return Turn.BLOCKED if parts.outbox.waiting else Turn.DONE

    def _may_go_on(self) -> bool:
        """Whether no lane is overfull any more, or a cut is next: that calls neither process() nor a tick.

        Never asked where emit() waits: there is no such lane then.
        """
        outbox = self._parts.outbox
        outbox.relieve()
        outbox.flush_due()
        if not outbox.overfull:
            return True
        begun = self._begun is not None or self.timing.busy
        return not begun and isinstance(self._parts.inflow.inbox[0], Cut)

    def _take(self, item: InboxItem) -> None:
        match item:
            case QueuedFrame():
                self._execute(item)
            case QueuedWatermark():
                self.timing.take(item)
            case QueuedEnd():
                self._end.on_end(item)
            case Barrier(checkpoint):
                if self.saving is not None:
                    self.saving.begin(checkpoint)
            case Marker(epoch):
                self.on_mark(epoch)

    def _execute(self, delivery: QueuedFrame) -> None:
        prefix = delivery.prefix
        try:
            tuples = self._open(delivery)
        except ProtocolError as error:
            self._parts.inflow.on_unreadable(prefix, error)
            return
        if isinstance(self._guard, Guard) and self._guard.careful:
            self._guard.relax()
        if tuples:
            self._begun = BegunFrame(prefix, tuples)
            self._go_on(self._begun)

    def _go_on(self, frame: BegunFrame) -> None:
        """Process some more tuples of a frame; the rest has to wait for another turn."""
        prefix, tuples, done = frame.prefix, frame.tuples, frame.done
        try:
            count = self._process_chunk(tuples[done : done + self._pace.chunk])
        except Halted:
            self.halted = True  # the rest of the frame is neither processed nor granted
            return
        frame.done += count
        if frame.done == len(tuples):
            self._begun = None
        if self._open_whole is not None:
            count = prefix.tuples
        component, stream, *_ = self._kinds[prefix.stream]
        executed = self._parts.counters.executed
        executed[component, stream] = executed.get((component, stream), 0) + count
        self._parts.inflow.on_consumed(prefix.source, prefix.incarnation, count)
        if self._parts.acks is not None:
            self._parts.acks.flush_due(self._parts.counters.returned_at)

    def _open(self, delivery: QueuedFrame) -> list[Tuple]:
        """The tuples of a frame; ProtocolError when they are not what its prefix says."""
        prefix, payload = delivery
        if prefix.stream >= len(self._kinds):
            msg = f"no stream {prefix.stream} in the plan"
            raise ProtocolError(msg)
        kind, codec = self._kinds[prefix.stream], self._parts.codec
        if self._open_whole is not None:
            return [self._open_whole(kind, prefix, payload, codec)]
        return open_tuples(kind, prefix, payload, codec, leaves=self._ends_here)

    def _process_chunk(self, chunk: list[Tuple]) -> int:
        """Process as many as there is time for; how many that was."""
        counters = self._parts.counters
        clock = self._parts.clock
        waited_before = counters.waiting_seconds
        begun = clock()
        tup, count = chunk[0], len(chunk)
        cells = self._guard.cells
        cells[0] = BUSY
        try:
            if self._process_batch is not None and not self._guard.careful:
                self._process_batch(chunk)
            elif self._parts.outbox.may_wait or self._ends_here:
                process, until = self._stepping(), begun + LONG
                for start in range(0, len(chunk), _CALLS_PER_LOOK):
                    for tup in chunk[start : start + _CALLS_PER_LOOK]:
                        process(tup)
                    if clock() > until:
                        count = min(start + _CALLS_PER_LOOK, len(chunk))
                        break
            else:  # the same with a look at the lanes after every call
                process, until, overfull = self._stepping(), begun + LONG, self._parts.outbox.overfull
                for count, tup in enumerate(chunk, 1):
                    process(tup)
                    if overfull or (count % _CALLS_PER_LOOK == 0 and clock() > until):
                        break
        except Exception as error:
            batch = "" if self._process_batch is None else f"a batch of {len(chunk)}, the first of them "
            what = _named_whole(tup) if self._open_whole is not None else f"{batch}{shown(tup)}"
            error.add_note(f"while processing {what}")
            raise
        finally:
            cells[0] = IDLE  # an error that is raised is no death: it is reported with its traceback
        counters.returned_at = clock()
        spent = counters.returned_at - begun
        self._pace.measured(len(tup.values) if self._open_whole is not None else count, spent)
        self._parts.inflow.on_pace(self._pace.seconds_per_call, counters.returned_at)
        counters.calls += count
        counters.busy_seconds += max(0.0, spent - (counters.waiting_seconds - waited_before))
        return count

    def _stepping(self) -> Callable[[Tuple], None]:
        """What is called for each tuple."""
        guard, batch = self._guard, self._process_batch
        if not isinstance(guard, Guard) or not guard.careful:
            return self._process
        process = self._process if batch is None else lambda tup: batch([tup])

        def carefully(tup: Tuple) -> None:
            if guard.admits(tup if self._open_whole is not open_columns else _in_rows(tup)):
                process(tup)
                guard.passed()
            else:
                self._parts.counters.poisoned += 1
                if self._parts.acks is not None:
                    self._parts.acks.ack(tup.id)

        return carefully


def _whole_calls(process: Callable[..., None]) -> Callable[[Tuple], None]:
    """Calls process_columns or process_rows for a tuple that stands for all rows of a batch."""
    if takes_origin(getattr(process, "__func__", process)):
        return lambda origin: process(origin.values, origin)
    return lambda origin: process(origin.values)


def _in_rows(origin: Tuple) -> Tuple:
    return origin._replace(values=rows_of(origin.values))


def _named_whole(origin: Tuple) -> str:
    return f"a batch of {len(origin.values)} rows of stream {origin.stream!r} from {origin.component!r}"
