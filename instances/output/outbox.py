"""Open batches on their way out: when they are sent, and which wait for credit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from heronpy.instances.acking.anchored import Edges
from heronpy.instances.control_events import Meanwhile, nothing_new
from heronpy.instances.counters import Counters
from heronpy.instances.exposure import Exposure
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.link import Link
from heronpy.instances.near_rows import FindNear, nobody_near
from heronpy.instances.output.channel import Channel, Lane, Mover
from heronpy.instances.output.codec import Codec
from heronpy.instances.output.columns.row_fitting import most_rows
from heronpy.instances.output.following import Following
from heronpy.instances.output.hold_ups import HoldUps
from heronpy.instances.output.open_lanes import OpenLanes
from heronpy.instances.output.overfull import Overfull
from heronpy.instances.output.payloads import anchors_of, packed, too_large
from heronpy.instances.output.settling import Settling
from heronpy.instances.positions import Sent
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.flow.credit import Grant, LastWord, Spending
from heronpy.kernel.flow.frame import PREFIX_BYTES, PROBE, seal
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.flow.signals import Barrier, Marker, Signal
from heronpy.kernel.plans import PhysicalPlan

#: how long one wait for credit lasts before we look whether we should stop
_PATIENCE = 0.05


class Stopping(BaseException):
    """Raised through user code that waits in emit() when the process has to stop."""


class Outbox:
    """All channels of one task.

    A batch leaves at once when its receiver has nothing else to do, when it is full, or when it is old.
    A spout's batch may grow to twice its limit for want of credit: the current call of next_tuple finishes,
    and then the spout pauses, so that it rarely waits inside emit(). Where emit() may not wait, because other
    tasks run on the same thread, this holds for bolts too, and a batch grows by all that one call emits.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        sender: Sender,
        codec: Codec,
        link: Link,
        settings: FlowSettings,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
        sent: Sent | None = None,
        *,
        may_wait: bool = True,
        near: FindNear = nobody_near,
    ) -> None:
        self._plan = plan
        self._sender = sender
        self._sent = sent or Sent()
        self.codec = codec
        self._link = link
        self._near = near
        self._settings = settings
        self._counters = counters
        self._clock = clock
        #: whether emit() may wait for credit
        self.may_wait = may_wait
        component = plan.task(sender.task).component
        spout = plan.logical.component(component).kind == "spout"
        self._pauses = spout or not may_wait
        self._most_rows = most_rows(plan, component)
        self._channels: dict[int, Channel] = {}
        #: when to look again for receivers to probe
        self._look_at = 0.0
        self.hold_ups = HoldUps(plan, clock)
        self._exposure = Exposure(counters)
        self._open = OpenLanes(settings, self._exposure, clock)
        #: lanes that have outgrown their limit: while there are any, the task pauses
        self.overfull = Overfull(self._exposure, 2 * settings.batch_tuples)
        #: the task whose credit emit() waits for at this moment
        self.held_up_by: int | None = None
        #: called for a row that does not leave, so that its tree does not wait for it
        self.settle: Callable[[Edges], None] = lambda _: None
        #: called while emit() waits for credit
        self.meanwhile: Meanwhile = nothing_new
        #: tasks that later plans do not have: their late frames are ignored
        self._gone: set[int] = set()
        #: those that only the next plan has
        self._prepared: set[int] = set()
        #: signals that leave behind all rows emitted before them, also those that wait for credit
        self.following = Following(
            plan, component, self._channels, self._prepared, self._signal, settings, clock
        )
        self.settling = Settling(self._channels, self._open, self.following, self.hold_ups)
        self._next_epoch = 0
        self._held_since: float | None = None
        #: for how long tuples were held back for the last change of plan
        self.held_seconds = 0.0
        #: epoch that the markers on held channels name
        self._marked = 0

    def lane(self, stream: int, task: int) -> Lane:
        """A lane of its own for each stream towards each task."""
        channel = self._channels.get(task) or self._connect(task, self._plan)
        # An overfull batch has twice its limit.
        self._exposure.add(2 * self._settings.batch_tuples)
        return Lane(channel, stream, self._settings.batch_tuples)

    def _connect(self, task: int, plan: PhysicalPlan) -> Channel:
        channel = Channel(task, Spending(self._sender.incarnation, self._share(task, plan)))
        self._channels[task] = channel
        return channel

    def _share(self, task: int, plan: PhysicalPlan) -> int:
        """Bytes that may be on their way to a task, of all that it takes from its emitters."""
        emitters = plan.emitters_of(plan.task(task).component)
        return max(1, self._settings.credit_bytes // emitters)

    def greet(self) -> None:
        """Ask every receiver for the first credit; this also announces that a predecessor is gone."""
        for channel in self._channels.values():
            self._ask(channel, self._clock())

    def opened(self, lane: Lane) -> None:
        """The first rows have been put into a lane."""
        if lane.moved_to is not None:
            late = RowBatch(lane.rows, lane.edges)
            lane.discard()
            lane.moved_to(lane, late)
            return
        lane.note(len(lane.rows))
        self._open.enter(lane)
        if lane.channel.room() <= 0:
            # It may take long until a batch leaves and its encoding shows how large these rows are.
            lane.limit = min(lane.limit, self._fitting(1, len(self.codec.encode(lane.rows[:1]))))
        if len(lane.rows) >= lane.limit:
            self.full(lane)
        elif lane.channel.is_waiting(lane.opened_at - self._settings.linger):
            self._send(lane)
        if lane.channel.open:
            self._note(lane.channel)

    def grown(self, lane: Lane) -> None:
        """A lane is full, or has more rows than are noted of it."""
        self.full(lane)
        if len(lane.rows) > lane.noted:
            # Doubled: a batch is noted a few times, not at every row.
            lane.note(2 * len(lane.rows))
            self._note(lane.channel)

    def add_columns(self, lane: Lane, batch: ColumnBatch) -> Lane:
        """Put a batch behind all that was emitted for the stream and task of a lane; it is sent next."""
        if lane.rows:
            self._open.seal(lane, self.overfull)
        columns = self._open.behind(lane.channel, lane.stream, batch)
        columns.put(batch)
        columns.note(len(columns.rows))
        self._note(lane.channel)
        return columns

    def send_columns(self, lane: Lane) -> None:
        """Batches have been added to a lane: send them, or wait, as for rows; unless they have left."""
        if len(lane.rows) >= lane.limit:
            self.full(lane)
        elif lane.rows and lane.channel.spending.idle:
            self._send(lane)

    def full(self, lane: Lane) -> None:
        """While a lane has reached its limit: send, or wait until the receiver lets us."""
        while len(lane.rows) >= lane.limit:
            if self._send(lane):
                continue
            if self._settings.drop and not lane.channel.held:
                self._drop(lane)
            elif self.may_wait and (lane in self.overfull or not self._pauses):
                self._wait_for(lane)
            else:
                self.overfull.grow(lane)

    def flush(self) -> None:
        """Send all that credit allows; what it does not allow stays."""
        for lane in list(self._open):
            self._send(lane)

    def flush_due(self) -> None:
        """Send what has lingered long enough."""
        self.probe()
        if not self._open:
            return
        oldest = self._clock() - self._settings.linger
        for lane in list(self._open):
            if lane.opened_at > oldest:
                break
            self._send(lane)

    def relieve(self) -> None:
        """Send what the task pauses for, as far as there is credit now."""
        for lane in list(self.overfull):
            if lane.rows:  # else it was in the way of one that was overfull before it, and has left
                self._send(lane)

    @property
    def waiting(self) -> bool:
        return bool(self._open)

    @property
    def lingering(self) -> bool:
        """Whether there are batches that wait for company, not for credit."""
        return len(self._open) > len(self.overfull)

    def on_grant(self, source: int, incarnation: int, grant: Grant) -> bool:
        """Take a grant; False if its sender is no receiver of this task, or has been replaced.

        A grant for the predecessor of this process was in flight when that died, and changes nothing.
        """
        channel = self._channels.get(source)
        if channel is None:
            return source in self._gone
        spending = channel.spending
        consumed, maybe_lost, exposed = spending.consumed, spending.maybe_lost, spending.exposed
        spending.on_grant(incarnation, grant)
        self._counters.lost(0, spending.maybe_lost - maybe_lost)
        self._exposure.add(spending.exposed - exposed)
        if spending.consumed != consumed:
            channel.heard_at = self._clock()
        if grant.is_hello:
            self.following.repeat_soon()
            if spending.room() <= 0:
                # The receiver counts from here on, and the first probe may have gone to its predecessor.
                self._ask(channel, self._clock())
        self._check_free(channel)
        return incarnation == spending.receiver

    def probe(self) -> None:
        """Probe receivers that have made no progress for long. Cheap, because it is called every turn.

        Also those that no row waits for: otherwise a loss behind the last tuple would never be detected.
        """
        now = self._clock()
        if self.following.owes:
            self.following.pay_due(now)
        if now < self._look_at:
            return
        patience = self._settings.credit_probe
        self._look_at = now + patience / 4
        for channel in self._channels.values():
            due = not channel.spending.idle or channel.task in self.hold_ups
            if due and now - channel.heard_at > patience:
                self._ask(channel, now)
            if channel.held and self._marked:
                self._mark(channel)  # the first may have been lost with a Stream Manager
        self.following.repeat(now)
        self.hold_ups.log_notable()

    def prepare(self, plan: PhysicalPlan, tasks: Iterable[int]) -> None:
        """Ask tasks that are new in the next plan for credit, so that it is there when they are needed."""
        self._next_epoch = plan.epoch
        for task in tasks:
            if task not in self._channels:
                self._prepared.add(task)
                self._ask(self._connect(task, plan), self._clock())

    def hold(self, tasks: Iterable[int] | None = None) -> None:
        """Let nothing leave for these tasks, or for any, until release() or use_plan()."""
        for task in self._channels if tasks is None else tasks:
            if task in self._channels:
                self._channels[task].held = True
        if self._held_since is None:
            self._held_since = self._clock()

    def cut(self, tasks: Iterable[int], epoch: int) -> None:
        """Send these tasks a marker behind the last data of the plan in force; hold later rows back."""
        self._marked = epoch
        cut = [task for task in tasks if task in self._channels and not self._channels[task].held]
        self.hold(cut)
        for task in cut:
            self._mark(self._channels[task])

    def expect_successors(self, tasks: Iterable[int]) -> None:
        """These tasks are replaced once they have processed their input, unless the plan is rolled back."""
        for task in tasks:
            if task in self._channels:
                self._channels[task].spending.expect_successor()

    def _end_successions(self, *, carried_out: bool) -> None:
        for channel in self._channels.values():
            exposed = channel.spending.exposed
            channel.spending.end_succession(carried_out=carried_out)
            self._exposure.add(channel.spending.exposed - exposed)

    def release(self) -> None:
        """Lift the hold: rows may leave again, and followers behind them."""
        self._lift_hold()
        for channel in self._channels.values():
            self.following.send_due(channel)

    def _lift_hold(self) -> None:
        self._marked = 0
        self._prepared.clear()
        for channel in self._channels.values():
            channel.held = False
        if self._held_since is not None:
            self.held_seconds = self._clock() - self._held_since
            self._held_since = None

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Send by another plan from now on. What waits for tasks that it lacks is to be moved next."""
        self._plan = plan
        self.following.use_plan(plan)
        self._end_successions(carried_out=True)
        self.hold_ups.use_plan(plan)
        kept = {task.id for task in plan.tasks}
        self._disconnect([task for task in self._channels if task not in kept])
        for task, channel in self._channels.items():
            channel.spending.max_bytes = self._share(task, plan)
        self._lift_hold()  # followers wait: rows are moved before they begin anew

    def forget(self) -> None:
        """The next plan was rolled back: release the held rows, and forget the tasks that only it had."""
        self._counters.lost(0, sum(channel.spending.unproven for channel in self._channels.values()))
        self._end_successions(carried_out=False)
        kept = {task.id for task in self._plan.tasks}
        self._disconnect([task for task in self._channels if task not in kept])
        self.release()

    def _disconnect(self, tasks: list[int]) -> None:
        for task in tasks:
            self._exposure.add(-self._channels.pop(task).spending.exposed)
            self._gone.add(task)

    def knows(self, task: int, epoch: int) -> bool:
        """Whether a task that works by the plan of this epoch is a receiver, now or by the next plan."""
        prepared = task in self._prepared
        return task in self._channels and (not prepared or epoch == self._next_epoch)

    def unsent(self) -> list[Lane]:
        """The lanes with rows in them, oldest first."""
        return list(self._open)

    def retire(self, lanes: Iterable[Lane], moved_to: Mover) -> None:
        """Nothing leaves from these lanes any more; what is still put into them is given to `moved_to`."""
        for lane in lanes:
            self.discard(lane)
            lane.limit, lane.moved_to = 1, moved_to
            self._exposure.add(-2 * self._settings.batch_tuples)

    def discard(self, lane: Lane) -> None:
        """What is in a lane does not leave from it."""
        lane.discard()
        self._open.leave(lane)
        self.overfull.leave(lane)

    def queue(self, stream: int, task: int, batch: RowBatch | ColumnBatch) -> None:
        """Rows that were emitted before: they leave before all that is emitted from now on.

        Uses private lanes, one after the other, so that the order of rows towards a task stays as it was over
        all streams.
        """
        channel = self._channels[task]
        lane = self._open.behind(channel, stream, batch)
        lane.put(batch)
        if self._pauses and len(lane.rows) >= lane.limit:
            self.overfull[lane] = None
        if len(lane.rows) > lane.noted:
            lane.note(2 * len(lane.rows))
            self._note(channel)

    def send_barriers(self, checkpoint: int) -> None:
        """Send every receiver a barrier: all rows sent so far belong to the checkpoint. Needs no credit."""
        for channel in self._channels.values():
            self._signal(channel, Barrier(checkpoint))

    def _mark(self, channel: Channel) -> None:
        self._signal(channel, Marker(self._marked))

    def _signal(self, channel: Channel, signal: Signal) -> None:
        self._link.send(*self._sender.signal(channel.task, signal, channel.spending.sent))

    def _ask(self, channel: Channel, now: float) -> None:
        channel.heard_at = now
        # a receiver that has granted us anything knows what our predecessors took along
        said = LastWord.encode_all(() if channel.spending.limit else self._sent.last_words(channel.task))
        self._link.send(*self._sender.frame(PROBE, channel.task, said, position=channel.spending.sent))

    def _note(self, channel: Channel, leaving: int = 0) -> None:
        """Note the position of the channel, for a successor to report."""
        waiting = sum(lane.noted for lane in channel.open)
        self._sent.note(channel.task, channel.spending.sent + leaving, waiting)

    def _check_free(self, channel: Channel) -> None:
        if channel.task in self.hold_ups and not channel.open and channel.room() > 0:
            self.hold_ups.end(channel.task)

    def _wait_for(self, lane: Lane) -> None:
        begun = self._clock()
        self.held_up_by = lane.channel.task
        try:
            # flush_due() may have used the new credit for this very lane, which then is not full any more.
            while lane.channel.room() <= 0 and len(lane.rows) >= lane.limit:
                if self._link.stopping:
                    raise Stopping
                self.meanwhile()
                self.probe()
                self._link.pump(_PATIENCE)
                self.flush_due()
        finally:
            self.held_up_by = None
            self._counters.waiting_seconds += self._clock() - begun

    def _drop(self, lane: Lane) -> None:
        """Drop the rows: the topology prefers losing tuples to waiting for a slow reader."""
        _, stream = self._plan.streams[lane.stream]
        dropped = self._counters.dropped
        dropped[stream] = dropped.get(stream, 0) + len(lane.rows)
        lane.sent += len(lane.rows)
        self.discard(lane)
        self.following.send_due(lane.channel)

    def _send(self, lane: Lane) -> bool:
        """Send as much of a lane as credit allows; False when that is nothing.

        Batches that were opened before, for the same task, go first: what closes or announces something on
        a stream of its own must not overtake what was emitted before it.
        """
        channel = lane.channel
        while (oldest := next(iter(channel.open))) is not lane:
            if not self._send_some(oldest):
                return False
        return self._send_some(lane)

    def _send_some(self, lane: Lane) -> bool:
        channel = lane.channel
        room = channel.room()
        if room <= 0:
            if not channel.held:
                self.hold_ups.begin(channel.task)
            return False
        try:
            self._send_batch(lane, lane.first(room))
            while lane.columns and lane.rows and (room := channel.room()) > 0:
                self._send_batch(lane, lane.first(room))
        finally:
            if lane in self.overfull:
                self.overfull.shrink(lane)
            if not lane.rows:
                self._open.leave(lane)
        if channel.followers:
            self.following.send_due(channel)
        if self.hold_ups:
            self._check_free(channel)
        return True

    def _send_batch(self, lane: Lane, batch: RowBatch | ColumnBatch) -> None:
        """Send the first rows of a lane, which are taken out of it as they leave."""
        rows, channel = batch.rows, lane.channel
        if self._most_rows and not lane.columns and 0 < self._most_rows.get(lane.stream, 0) < len(rows):
            self._send_halves(lane, batch, 0)
            return
        near = self._near(channel.task)
        payload, kind = packed(batch, self.codec, near=near is not None)
        size = len(payload)
        if near is None and size + PREFIX_BYTES > self._settings.frame_bytes:
            self._send_halves(lane, batch, size)
            return
        # as it is when these have left, for the process may end at any moment
        lane.note(len(lane.rows) - len(rows))
        self._note(channel, leaving=len(rows))
        prefix = self._sender.prefix(kind, channel.task, lane.stream, len(rows), channel.spending.sent)
        if near is not None:
            near(prefix, payload)
        else:
            assert isinstance(payload, bytes)
            self._link.send(*seal(prefix, payload))
        lane.drop_first(len(rows))
        channel.left_at = self._clock()
        if channel.spending.idle:
            channel.heard_at = channel.left_at
        channel.spending.spend(len(rows), size)
        if not lane.columns:
            lane.limit = self._fitting(len(rows), size)

    def _fitting(self, count: int, size: int) -> int:
        """How many rows make a full batch, when `count` of them take `size` bytes."""
        return min(max(self._settings.batch_bytes * count // max(size, 1), 1), self._settings.batch_tuples)

    def _send_halves(self, lane: Lane, batch: RowBatch | ColumnBatch, size: int) -> None:
        if len(batch.rows) == 1:
            # Only this row is dropped: a component may catch the error, and the rest of the batch is good.
            lane.drop_first(1)
            for edges in anchors_of(batch):
                self.settle(edges)
            raise too_large(size, *self._plan.streams[lane.stream], self._settings.frame_bytes)
        for half in lane.halves(batch):
            self._send_batch(lane, half)
