"""Runs one spout: calls next_tuple as often as credit and the topology's state allow."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heronpy.instances.acking.anchored import EdgesOf
from heronpy.instances.acking.roots import Over
from heronpy.instances.execution.turn import Turn
from heronpy.instances.link import WatchfulLink
from heronpy.instances.output.fast_lane import fast_lane
from heronpy.instances.saving.snapshot import Snapshots
from heronpy.instances.saving.task_end import TaskEnd
from heronpy.instances.task.log_level import log_level
from heronpy.instances.task.pace import LONG, Pace
from heronpy.instances.task.timing import MICROSECONDS
from heronpy.spout import Spout

if TYPE_CHECKING:
    from heronpy.context import TopologyContext
    from heronpy.instances.task.build import TaskWiring

#: how long a paused spout, or one that is not due, sleeps when nothing wakes it
_PAUSED = 0.5
#: a spout that has had nothing for long is asked after this share of that time, if that is longer
_SHARE = 0.02
#: … but at least so often, in seconds
_SELDOM = 0.5
#: … and one that waits for credit
_HELD_UP = 0.02


class SpoutDelegate:
    """What the user's spout emits through."""

    def __init__(self, parts: TaskWiring) -> None:
        self._collector = parts.collector
        self._tracker = parts.tracker
        self._fast_emit = fast_lane(parts.collector, parts.tracker)
        self.logger = parts.logger
        self.open_state = parts.open_state
        #: tuples that are done with and whose ack() is still to be called
        self.acked: deque[Over] = parts.tracker.acked if parts.tracker else deque()
        self._clock = parts.clock
        self._wall = parts.wall
        self._awaiting = parts.awaiting
        self._following = parts.outbox.following
        #: whether the spout has said that it has no more tuples
        self.finished = False
        #: whether next_tuple has got on in its source, though it may have emitted nothing
        self.moved = False

    def emit(
        self,
        tup: Any,
        tup_id: Any = None,
        stream: str = "default",
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        tracker, tasks = self._tracker, None
        plain = direct_task is None and not need_task_ids and (tracker is None or tup_id is not None)
        if not plain or not self._fast_emit(tup, stream, None, tup_id):
            tasks = self._collector.emit(tup, stream, direct_task, need_task_ids, self._planting(tup_id))
        if tracker is None and tup_id is not None:
            self._on_emitted(tup_id)
        return tasks

    def emit_many(self, rows: Iterable[Sequence[Any]], tup_id: Any = None, stream: str = "default") -> None:
        self._collector.emit_many(rows, stream, self._planting(tup_id))
        if self._tracker is None and tup_id is not None:
            self._on_emitted(tup_id)

    def emit_batch(
        self, batch: Any, tup_id: Any = None, stream: str = "default", direct_task: int | None = None
    ) -> None:
        self._collector.emit_batch(batch, stream, direct_task, self._planting(tup_id))
        if self._tracker is None and tup_id is not None:
            self._on_emitted(tup_id)

    def _planting(self, tup_id: Any) -> EdgesOf | None:
        return functools.partial(self._tracker.plant, tup_id) if self._tracker is not None else None

    def _on_emitted(self, tup_id: Any) -> None:
        """Effectively once a checkpoint has to have it. At most once what has been emitted is done with."""
        if self._awaiting is not None:
            self._awaiting.note(tup_id, self._clock())
        else:
            self.acked.append(Over([tup_id], [0.0], 0.0))

    def processing_time(self) -> int:
        """Microseconds since 1970."""
        return round(self._wall() * MICROSECONDS)

    def emit_watermark(
        self, at: int, idle: bool = False, further: Mapping[str, tuple[int, bool]] | None = None
    ) -> None:
        self._following.emit_watermark(at, idle=idle, further=further)

    def finish(self) -> None:
        self.finished = True

    def log(self, message: object, level: str | None = None) -> None:
        self.logger.log(log_level(level), "%s", message)


class SpoutTask:
    """One turn: what is due, then some calls of next_tuple."""

    has_input = False

    def __init__(self, spout: Spout, delegate: SpoutDelegate, parts: TaskWiring, end: TaskEnd) -> None:
        self._delegate = delegate
        self._end = end
        self._acked = delegate.acked
        self._tracker = parts.tracker
        self._failed: deque[Over] = parts.tracker.failed if parts.tracker else deque()
        self._spout = spout
        self._hooks: TopologyContext | None = None
        self._next_tuple = spout.next_tuple
        #: whether it says when it has something
        self._punctual = type(spout).due_in is not Spout.due_in or type(spout).fd is not Spout.fd
        self._parts = parts
        self._pace = Pace(parts.settings.spout_calls)
        self._idle = parts.settings.idle_min
        self._watch = parts.link.watch if isinstance(parts.link, WatchfulLink) else _cannot_watch
        #: when next_tuple last emitted something
        self._moved_at = parts.clock()
        #: how long to wait after the last turn, if nothing is due before
        self._longest = 0.0
        #: when the last turn ended, if only for want of credit
        self._blocked_at: float | None = None
        #: what is saved of the task, if anything is
        self.saving: Snapshots | None = None
        #: None until the first notice, which is the initial value and not a change
        self._active: bool | None = None
        #: whether next_tuple must not be called, because its splits may move to another task
        self.resting = False
        #: a spout has no input
        self.on_mark: Callable[[int], None] = lambda _: None

    def use_hooks(self) -> None:
        """Call the task hooks for every ack and fail as well."""
        self._hooks = self._parts.context

    def set_live(self, active: bool) -> None:
        """Paused means only that next_tuple is not called."""
        before, self._active = self._active, active
        if before is None or before is active:
            return
        self._parts.counters.other_calls += 1
        if active:
            self._spout.activate()
        else:
            self._spout.deactivate()

    def turn(self) -> Turn:
        parts = self._parts
        if self._blocked_at is not None:
            parts.counters.waiting_seconds += parts.clock() - self._blocked_at
            self._blocked_at = None
        parts.schedule.run_due()
        if self._tracker is not None:
            self.tell()
        unsaved = self.saving is not None and self.saving.work()
        turn = self._work()
        if self._tracker is not None:
            self._tracker.stamp()
        if self._delegate.finished and self._end_if_finished():
            return Turn.MORE  # to send what end_of_input() has emitted
        return Turn.MORE if unsaved else turn

    def _end_if_finished(self) -> bool:
        """The input ends when the spout has finished and no tuple of it can fail any more; if it does now."""
        tracker = self._tracker
        pending = tracker is not None and (tracker.pending or self._acked or self._failed)
        if pending or self.resting or self._end.reached:
            return False
        self._end.reach()
        return True

    def on_new_splits(self) -> None:
        """The spout has splits that it has not read."""
        self._delegate.finished = False

    def patience(self) -> float:
        """Seconds until the next turn, if nothing comes before."""
        return self.until_due(self._longest)

    def until_due(self, longest: float) -> float:
        """Seconds until something is due by a clock."""
        return self._parts.outbox.following.patience(self._parts.schedule.patience(longest))

    def _work(self) -> Turn:
        outbox = self._parts.outbox
        full = self._tracker is not None and self._tracker.full
        if self._active is False or self.resting or full or self._delegate.finished:
            self.tell()
            outbox.flush()
            outbox.probe()
            self._longest = _HELD_UP if outbox.waiting else _PAUSED
            return Turn.BLOCKED if outbox.waiting else Turn.DONE
        if outbox.overfull:
            return self._wait_for_credit()
        if self._ask_on():
            outbox.flush_due()
            return Turn.MORE
        outbox.flush()
        outbox.probe()
        self._longest = self._rest()
        self._pace.slow_down()
        return Turn.DONE

    def _ask_on(self) -> bool:
        """Ask the spout; whether it may have more."""
        seldom = self._pace.chunk == 1
        moved = self._ask()
        brief = seldom and self._pace.chunk > 1  # one call, and a short one
        if moved and brief and self._punctual and not (self.resting or self._parts.outbox.overfull):
            self._note_moved()
            # It has most likely said all: the next turn, in which that shows, would cost as much as this one.
            full = self._tracker is not None and self._tracker.full
            moved = full or self._delegate.finished or self._ask()
        if moved:
            self._note_moved()
        return moved

    def _note_moved(self) -> None:
        self._idle = self._parts.settings.idle_min
        self._moved_at = self._parts.counters.returned_at

    def _rest(self) -> float:
        """Seconds to wait after a next_tuple that emitted nothing."""
        due, descriptor = self._spout.due_in(), self._spout.fd()
        watched = descriptor is not None and self._watch(descriptor)
        if due is not None and due > 0:
            return min(due, _PAUSED if watched or descriptor is None else self._pause())
        return _PAUSED if watched and due is None else self._pause()

    def _pause(self) -> float:
        """Seconds until a spout is asked of which it is not known when it has something; longer each time."""
        longest = self._parts.settings.idle_max
        rest, self._idle = self._idle, min(self._idle * 2, longest)
        if rest == longest < _SELDOM:
            return max(rest, min(_SELDOM, _SHARE * (self._parts.clock() - self._moved_at)))
        return rest

    def _wait_for_credit(self) -> Turn:
        """A turn without next_tuple: what it emitted last has not left yet."""
        outbox = self._parts.outbox
        outbox.relieve()
        outbox.flush_due()
        if not outbox.overfull:
            return Turn.MORE
        self._longest = min(_HELD_UP, self._parts.settings.linger) if outbox.lingering else _HELD_UP
        self._blocked_at = self._parts.clock()
        return Turn.BLOCKED

    def _ask(self) -> bool:
        """Call next_tuple for about a millisecond; whether anything was emitted, or read."""
        counters, pace = self._parts.counters, self._pace
        self._delegate.moved = False
        emitted_before = sum(counters.emitted.values())
        waited_before = counters.waiting_seconds
        next_tuple, clock, tracker = self._next_tuple, self._parts.clock, self._tracker
        acked, failed, overfull = self._acked, self._failed, self._parts.outbox.overfull
        begun = clock()
        until = begun + LONG
        called = 0
        while called < pace.chunk:
            called += 1
            next_tuple()
            if acked or failed:
                self.tell()
            if overfull or self._delegate.finished or clock() > until:
                break
            if tracker is not None and tracker.full:
                break
        counters.returned_at = clock()
        spent = counters.returned_at - begun
        pace.measured(called, spent)
        counters.calls += called
        counters.busy_seconds += max(0.0, spent - (counters.waiting_seconds - waited_before))
        return self._delegate.moved or sum(counters.emitted.values()) > emitted_before

    def over(self, over: Over) -> None:
        """These tuples are fully processed."""
        self._acked.append(over)
        self.tell()

    def tell(self) -> None:
        """Call ack() and fail() for what is over.

        Not inside emit(), since spouts note a tuple as pending after it. An ack() that emits gets its own ack
        in the next round, so that such a spout still ends its turn.
        """
        counters, hooks, spout = self._parts.counters, self._hooks, self._spout
        if self._tracker is not None:
            counters.pending, counters.pending_limit = self._tracker.pending, self._tracker.max_pending
        elif self._parts.awaiting is not None:
            counters.pending = self._parts.awaiting.pending
        for _ in range(len(self._acked)):
            over = self._acked.popleft()
            counters.acked += len(over.ids)
            if hooks is not None:
                _call_each(over, spout.ack, hooks.invoke_hook_spout_ack)
            elif getattr(spout.ack, "__func__", None) is not Spout.ack:  # the inherited ack() does nothing
                for tup_id in over.ids:
                    spout.ack(tup_id)
        for _ in range(len(self._failed)):
            over = self._failed.popleft()
            counters.failed += len(over.ids)
            if over.ids:
                self._delegate.finished = False  # what failed may be emitted again
            _call_each(over, spout.fail, hooks.invoke_hook_spout_fail if hooks is not None else None)
        if self._delegate.finished:
            self._end_if_finished()


def _cannot_watch(_descriptor: int) -> bool:
    """Of a link that has nothing to wait with."""
    return False


def _call_each(over: Over, call: Callable[[Any], None], hook: Callable[[Any, float], None] | None) -> None:
    for tup_id, born in zip(over.ids, over.born, strict=True):
        call(tup_id)
        if hook is not None:
            hook(tup_id, 1000 * (over.at - born))
