"""Frames on their way in: checks, the queue, and the credit that is granted for consumed tuples."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from heronpy.instances.counters import Counters
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.input.alignment import Alignment
from heronpy.instances.link import Link
from heronpy.instances.near_rows import Payload
from heronpy.instances.positions import WorkedOff
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.credit import HELLO, Grant, LastWord, Receiving
from heronpy.kernel.flow.frame import CREDIT, Prefix
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Barrier, Cut, EndOfInput, Marker, Signal, Watermark
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import task_name
from heronpy.kernel.plans import PhysicalPlan, is_fused

log = logging.getLogger(__name__)

#: seconds of work that a task accepts ahead from tasks of its own process, if these are more rows than it
#: accepts at first: nothing delays what they send, and rows that wait for long have left the CPU's cache
NEAR_WINDOW = 0.005


class QueuedFrame(NamedTuple):
    """A data frame that waits to be processed."""

    prefix: Prefix
    payload: Payload


class QueuedEnd(NamedTuple):
    """The end of the input from one emitter, behind all that came from it."""

    source: int
    incarnation: int
    #: how many tuples were sent before it
    position: int


class QueuedWatermark:
    """How far one emitter has come, behind all that came from it; a later one may take its place."""

    __slots__ = ("at", "epoch", "idle", "source")

    def __init__(self, source: int, epoch: int, at: int, *, idle: bool) -> None:
        self.source = source
        self.epoch = epoch
        self.at = at
        self.idle = idle


#: what the inbox of a task holds, in the order in which it is to be taken
InboxItem = QueuedFrame | QueuedEnd | QueuedWatermark | Cut


class Inflow:
    """All channels towards one task."""

    def __init__(
        self,
        plan: PhysicalPlan,
        sender: Sender,
        link: Link,
        settings: FlowSettings,
        counters: Counters,
        worked_off: WorkedOff | None = None,
    ) -> None:
        component = plan.task(sender.task).component
        self._component = component
        self._sender = sender
        self._link = link
        self._settings = settings
        self._counters = counters
        self._worked_off = worked_off or WorkedOff()
        self._channels: dict[int, Receiving] = {}
        #: those that the plan in force has
        self._sources: frozenset[int] = frozenset()
        self._connect(plan)
        self._sources = frozenset(self._channels)
        self._next_epoch = 0
        #: source → epoch of the plan before which all that it sent by an earlier one has come
        self._markers: dict[int, int] = {}
        #: the epoch that all markers are to name; 0 for none
        self._awaited = 0
        #: source → its newest end of input that has come, and that has been taken from the inbox
        self._ends: dict[int, QueuedEnd] = {}
        self._taken_ends: dict[int, QueuedEnd] = {}
        #: source → the last that came from it, if that is a watermark and waits
        self._watermarks: dict[int, QueuedWatermark] = {}
        #: bytes that each emitter may have on its way to us
        self._share = settings.credit_bytes // max(len(self._channels), 1)
        #: emitters that share the process
        self._near: set[int] = set()
        self._near_share = min(1.0, NEAR_WINDOW / settings.credit_window)
        #: bytes of a tuple, as of the last frame of each emitter
        self._sizes: dict[int, int] = {}
        #: channels with progress that their emitter does not know of, and when it is told at the latest
        self._untold: set[int] = set()
        self._tell_at = 0.0
        #: emitters that wait until all they have sent is done with
        self._eager: set[int] = set()
        #: whether any may wait, because a plan is about to replace the one in force
        self._changing = False
        self._window = settings.credit_initial
        #: the most that is granted, since no more has come lately
        self._useful = settings.credit_initial
        #: tuples done since this moment
        self._done = 0
        self._measured_at = 0.0
        self._now = 0.0
        self._complaints = RateLimitedLog(log)
        self.inbox: deque[InboxItem] = deque()
        self.alignment: Alignment[InboxItem] = Alignment(self.inbox, self._sources)

    @property
    def has_input(self) -> bool:
        """Whether anything waits: in the inbox, or behind a barrier that has not come on all channels."""
        return bool(self.inbox) or self.alignment.holds_back

    def _connect(self, plan: PhysicalPlan) -> list[int]:
        """Expect something of every task upstream in this plan; those that are new."""
        new = [source for source in plan.upstream_of(self._component) if source.id not in self._channels]
        for source in new:
            unsent = _unsent(plan, source.component, self._component, self._settings)
            self._channels[source.id] = Receiving(unsent)
        return [source.id for source in new]

    def prepare(self, plan: PhysicalPlan) -> None:
        """Expect the tasks that are new in the next plan as well, and let them ask for credit."""
        self._next_epoch = plan.epoch
        self._changing = True
        for source in self._connect(plan):
            self._tell(source, HELLO)

    def expect_successors(self, sources: Iterable[int]) -> None:
        """These tasks are replaced once all they emitted is consumed, unless the plan is rolled back."""
        for source in sources:
            if source in self._channels:
                self._channels[source].expect_successor()

    def await_markers(self, epoch: int) -> None:
        """Put a marker into the inbox once nothing more comes by the plan in force."""
        # Never two cuts at once: the notice of this update may arrive before that of an aborted checkpoint.
        self.alignment.stop()
        self._awaited = epoch
        self._check_markers()

    def forget(self) -> None:
        """The next plan was rolled back."""
        self._awaited = 0
        self._changing = False
        self._counters.lost(0, sum(channel.unproven for channel in self._channels.values()))
        self._end_successions(carried_out=False)
        for source in self._channels.keys() - self._sources:
            self._disconnect(source)

    def _end_successions(self, *, carried_out: bool) -> None:
        for channel in self._channels.values():
            channel.end_succession(carried_out=carried_out)

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Work by another plan from now on. All data from emitters that are not in it has been consumed."""
        self._awaited = 0
        self._end_successions(carried_out=True)
        self.prepare(plan)
        self._changing = False
        self._sources = frozenset(source.id for source in plan.upstream_of(self._component))
        for source in self._channels.keys() - self._sources:
            self._disconnect(source)
        self.alignment.use_channels(self._sources)
        self._share = self._settings.credit_bytes // max(len(self._channels), 1)

    def _disconnect(self, source: int) -> None:
        del self._channels[source]
        self._untold.discard(source)
        self._eager.discard(source)
        for known in (self._markers, self._sizes, self._ends, self._taken_ends, self._watermarks):
            known.pop(source, None)

    def knows(self, source: int, epoch: int) -> bool:
        """Whether this source, working by the plan of this epoch, is an emitter now or by the next plan.

        The epoch is compared because a task of an update that was rolled back may have had the same id.
        """
        return source in self._sources or (source in self._channels and epoch == self._next_epoch)

    def on_signal(self, prefix: Prefix, signal: Signal) -> None:
        """Data sent before it has arrived or is lost. Any signal may be repeated."""
        channel = self._hear_position(prefix)
        match signal:
            case Watermark(at, idle):
                self._on_watermark(prefix, at, idle=idle)
            case Barrier(checkpoint):
                self._watermarks.pop(prefix.source, None)
                self.alignment.on_barrier(prefix.source, checkpoint)
            case Marker(epoch):
                self._watermarks.pop(prefix.source, None)
                # The emitter waits until all before the marker is consumed. It may be early.
                self._eager.add(prefix.source)
                self._grant(prefix.source, channel, idle=True)
                self._markers[prefix.source] = max(epoch, self._markers.get(prefix.source, 0))
                self._check_markers()
            case EndOfInput():
                self._on_end(prefix)

    def _check_markers(self) -> None:
        epoch = self._awaited
        if epoch and all(self._markers.get(source) == epoch for source in self._sources):
            self._awaited = 0
            self.alignment.stop()  # a barrier of a checkpoint that was given up may have come late
            self.inbox.append(Marker(epoch))

    def _on_end(self, prefix: Prefix) -> None:
        # An emitter that gets more input after its end, as from a task that was replaced, ends once more.
        end = QueuedEnd(prefix.source, prefix.incarnation, prefix.position)
        if self._ends.get(prefix.source) != end:
            self._ends[prefix.source] = end
            self._eager.add(prefix.source)
            self._queue(prefix.source, end)

    def _on_watermark(self, prefix: Prefix, at: int, *, idle: bool) -> None:
        waiting = self._watermarks.get(prefix.source)
        if waiting is not None:  # nothing lies between: a stuck bolt collects one of each emitter
            waiting.epoch, waiting.at, waiting.idle = prefix.epoch, at, idle
            return
        item = QueuedWatermark(prefix.source, prefix.epoch, at, idle=idle)
        self._queue(prefix.source, item)
        self._watermarks[prefix.source] = item

    def take_watermark(self, item: QueuedWatermark) -> None:
        """It has been taken from the inbox."""
        if self._watermarks.get(item.source) is item:
            del self._watermarks[item.source]

    def take_end(self, end: QueuedEnd) -> None:
        """All that came from an emitter before its end of input has been processed."""
        self._taken_ends[end.source] = end

    @property
    def is_source(self) -> bool:
        """Whether no task feeds this one."""
        return not self._sources

    @property
    def has_ended(self) -> bool:
        """Whether all input has been processed: every emitter has ended, and has sent nothing since."""
        return bool(self._sources) and all(map(self._has_ended, self._sources))

    def _has_ended(self, source: int) -> bool:
        end, channel = self._taken_ends.get(source), self._channels[source]
        return end is not None and (end.incarnation, end.position) == (channel.source, channel.received)

    def greet(self) -> None:
        """Send a hello to every emitter: credit used towards a predecessor of this process is void."""
        for source in self._channels:
            self._tell(source, self._worked_off.hello(source))

    def on_data(self, prefix: Prefix, payload: Payload) -> None:
        """Queue a frame; ProtocolError if it is empty or was replayed, or its source does not feed us."""
        channel = self._channel(prefix)
        if not prefix.tuples:
            msg = "a data frame of 0 tuples"
            raise ProtocolError(msg)
        maybe_lost = channel.maybe_lost
        self._look_at_emitter(prefix, channel)
        arrival = channel.on_frame(prefix.incarnation, prefix.position, prefix.tuples)
        self._counters.lost(arrival.missing, channel.maybe_lost - maybe_lost)
        if not arrival.accepted:
            msg = f"it begins at {prefix.position}, and all up to {channel.received} has come"
            raise ProtocolError(msg)
        self._counters.queued += prefix.tuples
        self._sizes[prefix.source] = max(len(payload) // prefix.tuples, 1)
        if not isinstance(payload, bytes):
            self._near.add(prefix.source)
        self._queue(prefix.source, QueuedFrame(prefix, payload))

    def _queue(self, source: int, item: QueuedFrame | QueuedEnd | QueuedWatermark) -> None:
        if self._watermarks:
            self._watermarks.pop(source, None)
        if source in self.alignment.ahead:
            self.alignment.set_aside(item)
        else:
            self.inbox.append(item)

    def on_probe(self, prefix: Prefix, payload: bytes) -> None:
        """An emitter asks for credit; a new one also reports the positions of its predecessors."""
        channel = self._hear_position(prefix, LastWord.decode_all(payload))
        self._eager.add(prefix.source)
        self._grant(prefix.source, channel, idle=True)

    def on_unreadable(self, prefix: Prefix, error: ProtocolError) -> None:
        """Drop a frame of the inbox whose payload does not match its prefix, and grant its credit again."""
        self._counters.rejected += 1
        self._counters.lost(0, prefix.tuples)  # the count is the sender's claim: an upper bound
        sender = task_name(prefix.source, prefix.incarnation)
        self._complaints.warning("dropped %d tuples from %s: %s", prefix.tuples, sender, error)
        self.on_consumed(prefix.source, prefix.incarnation, prefix.tuples)

    def on_consumed(self, source: int, incarnation: int, count: int) -> None:
        """Some tuples of a frame are done with."""
        self._counters.queued -= count
        self._done += count
        channel = self._channels.get(source)
        if channel is not None:  # else it is not in the plan any more
            maybe_lost = channel.maybe_lost
            channel.on_consumed(incarnation, count)
            self._worked_off.note(source, channel.source, channel.consumed)
            self._counters.lost(0, channel.maybe_lost - maybe_lost)
            if not self._untold:
                self._tell_at = self._now + self._settings.credit_probe / 4
            self._untold.add(source)
            self._grant(source, channel, idle=False)

    def on_pace(self, seconds_per_tuple: float, now: float) -> None:
        """The task's speed has been measured: it accepts that much work ahead, shared by its emitters.

        At most about twice the arrival rate: credit beyond that only raises the number of tuples at risk.
        """
        self._now = now
        span, emitters = self._settings.credit_window, max(len(self._channels), 1)
        if now - self._measured_at >= span:
            coming = 2 * self._done * span / (now - self._measured_at)
            self._useful = max(self._settings.credit_initial, int(coming / emitters))
            self._measured_at, self._done = now, 0
        able = span / max(seconds_per_tuple, 1e-8)
        self._window = max(1, min(int(able / emitters), self._useful))

    def grant_all(self) -> None:
        """Report the progress to every emitter."""
        for source in tuple(self._untold):
            self._grant(source, self._channels[source], idle=True)

    def grant_due(self, now: float) -> None:
        """The inbox is empty: report the progress to emitters that wait for it, or have long heard nothing.

        The others have most of their credit left, or on_consumed() would have told them: at low rates a grant
        for each tuple would cost as much as the tuple.
        """
        if self._changing or now >= self._tell_at:
            self.grant_all()
        elif self._eager:
            for source in self._eager & self._untold:
                self._grant(source, self._channels[source], idle=True)

    def patience(self, now: float, longest: float) -> float:
        """Seconds until a grant is due."""
        return max(0.0, min(longest, self._tell_at - now)) if self._untold else longest

    def _hear_position(self, prefix: Prefix, last: Sequence[LastWord] = ()) -> Receiving:
        """Take an emitter's position: tuples before it that have not arrived are missing."""
        channel = self._channel(prefix)
        maybe_lost = channel.maybe_lost
        self._look_at_emitter(prefix, channel)
        missing = channel.on_probe(prefix.incarnation, prefix.position, last)
        self._counters.lost(missing, channel.maybe_lost - maybe_lost)
        return channel

    def _look_at_emitter(self, prefix: Prefix, channel: Receiving) -> None:
        if prefix.incarnation > channel.source > 0:
            self.alignment.on_restart(prefix.source)

    def _channel(self, prefix: Prefix) -> Receiving:
        channel = self._channels.get(prefix.source)
        if channel is None:
            msg = f"task {prefix.source} does not feed task {self._sender.task}"
            raise ProtocolError(msg)
        if prefix.incarnation < channel.source:
            msg = f"it has been replaced by incarnation {channel.source}"
            raise ProtocolError(msg)
        return channel

    def _grant(self, source: int, channel: Receiving, *, idle: bool) -> None:
        # Large tuples stop their emitter at the byte mark, long before it has used a window in tuples.
        fitting = self._share // self._sizes.get(source, 1)
        window = self._window
        if source in self._near and window > self._settings.credit_initial:
            window = max(self._settings.credit_initial, int(window * self._near_share))
        grant = channel.grant(max(1, min(window, fitting)), idle=idle)
        if grant is not None:
            self._untold.discard(source)
            if not channel.queued:
                self._eager.discard(source)
            self._tell(source, grant)

    def _tell(self, source: int, grant: Grant) -> None:
        self._link.send(*self._sender.frame(CREDIT, source, grant.encode()))


def _unsent(plan: PhysicalPlan, source: str, reader: str, settings: FlowSettings) -> int:
    """Most tuples that a task of `source` can hold in open batches for one task of `reader`."""
    streams = sum(edge.component == source for edge in plan.logical.component(reader).inputs)
    # what pauses instead of waiting inside emit() may have twice as much
    doubled = 2 if plan.logical.component(source).kind == "spout" or is_fused(plan.logical) else 1
    return streams * settings.batch_tuples * doubled
