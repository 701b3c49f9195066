"""Followers on their way out: signals that overtake no row emitted before them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.channel import Channel, PendingFollower
from heronpy.kernel.flow.signals import Follower, Watermark
from heronpy.kernel.flow.watermarks import END, UNKNOWN
from heronpy.kernel.plans import PhysicalPlan, PlacedTask, affected

#: seconds between two repeats of a follower, at most
LONGEST_PAUSE = 60.0
#: what is not worth a frame
_NOTHING = Watermark(UNKNOWN)


class Level:
    """A follower that holds until there is another: it is repeated, because the frame may be lost with a
    Stream Manager and the receiver may be replaced. Repeats become rarer with time: all emitters send them to
    all receivers.
    """

    __slots__ = ("_pause", "_repeat_at", "_shortest", "signal")

    def __init__(self, shortest: float) -> None:
        """`shortest`: seconds from a follower to its first repeat; each pause is twice the one before."""
        self._shortest = self._pause = shortest
        self._repeat_at = 0.0
        self.signal: Follower | None = None

    def rise(self, signal: Follower, now: float) -> None:
        self.signal = signal
        self._pause, self._repeat_at = self._shortest, now + self._shortest

    def repeat_soon(self) -> None:
        self._pause, self._repeat_at = self._shortest, 0.0

    def due(self, now: float) -> Follower | None:
        """What is to be said again now."""
        if self.signal is None or now < self._repeat_at:
            return None
        self._repeat_at = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return self.signal


class Following:
    """Sends a follower to every receiver of a task, on each channel once the rows before it have left.

    Watermarks go only to components that want them, or feed one that does. They are held back for a few
    milliseconds after the last one, so that their number does not grow with that of the rows, and of several
    that wait on a channel the first and the last are kept: under constant back-pressure the first gets out in
    the end, and the queue never grows.
    """

    def __init__(
        self,
        plan: PhysicalPlan,
        component: str,
        channels: Mapping[int, Channel],
        prepared: Collection[int],
        send: Callable[[Channel, Follower], None],
        settings: FlowSettings,
        clock: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._component = component
        self._channels = channels
        #: tasks of a plan that is not in force: rows that wait may still be routed to them
        self._prepared = prepared
        self._send = send
        self._settings = settings
        self._clock = clock
        self._end = Level(settings.credit_probe)
        #: the lowest over all receivers
        self._watermark = Level(settings.watermark_repeat)
        #: component → its watermark, where that is another: none of its tuples is among those that are behind
        self._further: dict[str, Watermark] = {}
        self._hears = self._hearing(plan)
        #: whether a watermark is held back for a moment
        self.owes = False
        self._pay_at = 0.0
        #: component that the last plan has changed → the least that was said to its tasks by the one before
        self._bases: dict[str, int] = {}

    def _hearing(self, plan: PhysicalPlan) -> frozenset[int]:
        """The tasks that watermarks are sent to."""
        timed = plan.logical.timed
        return (
            frozenset(task.id for task in plan.downstream_of(self._component) if task.component in timed)
            if timed
            else frozenset()
        )

    @property
    def watermark(self) -> int:
        """The last watermark that this task has emitted, for all receivers."""
        signal = self._watermark.signal
        return signal.at if isinstance(signal, Watermark) else UNKNOWN

    @property
    def idle(self) -> bool:
        """Whether it said so with that watermark."""
        signal = self._watermark.signal
        return isinstance(signal, Watermark) and signal.idle

    def follow(self, signal: Follower) -> None:
        """From now on every receiver is to have this signal, behind all rows emitted so far."""
        self._pay()
        self._end.rise(signal, self._clock())
        for channel in self._channels.values():
            self._queue(channel, signal)

    def emit_watermark(
        self, at: int, *, idle: bool, further: Mapping[str, tuple[int, bool]] | None = None
    ) -> None:
        """No row with an earlier event time will be emitted. What is lower than before is taken as that.

        `further`: component → the same for what it reads, where that is not what holds for all.
        """
        said = {
            component: Watermark(max(own, self._said_to(component).at), own_idle)
            for component, (own, own_idle) in (further or {}).items()
        }
        signal = Watermark(max(at, self.watermark), idle)
        if not self._hears or (signal, said) == (self._watermark.signal or _NOTHING, self._further):
            return
        now = self._clock()
        self._watermark.rise(signal, now)
        self._further = said
        self.owes = True
        if now >= self._pay_at or at == END:
            self._pay()

    def _said_to(self, component: str) -> Watermark:
        """The last watermark for a component."""
        signal = self._watermark.signal
        return self._further.get(component, signal if isinstance(signal, Watermark) else _NOTHING)

    def _queue_watermark(self, channel: Channel) -> None:
        """The last one, on a channel whose receiver is to hear it."""
        if channel.task in self._hears:
            signal = self._said_to(self._plan.task(channel.task).component)
            if signal != _NOTHING:
                self._queue(channel, signal)

    def pay_due(self, now: float) -> None:
        """Send the watermark that was held back, if its time has come."""
        if now >= self._pay_at:
            self._pay()

    def patience(self, longest: float) -> float:
        """Seconds until a watermark that is held back is to be sent."""
        return min(longest, max(0.0, self._pay_at - self._clock())) if self.owes else longest

    def _pay(self) -> None:
        if not self.owes:
            return
        self.owes = False
        settings = self._settings
        pause = max(settings.watermark_interval, len(self._hears) * settings.watermark_per_receiver)
        self._pay_at = self._clock() + pause
        for channel in self._channels.values():
            self._queue_watermark(channel)

    @property
    def repeats(self) -> bool:
        """Whether there is something that has to be repeated."""
        return self._end.signal is not None or self._watermark.signal is not None

    def repeat_soon(self) -> None:
        """A receiver may have missed the last followers: it is new."""
        self._end.repeat_soon()
        self._watermark.repeat_soon()

    def send_due(self, channel: Channel) -> None:
        """Rows have left a channel, or may leave again."""
        pending = channel.followers
        while pending and not channel.held and pending[0].due:
            signal = pending.popleft().signal
            if isinstance(signal, Watermark):
                channel.watermark = signal.at
            self._send(channel, signal)

    def repeat(self, now: float) -> None:
        """Send the last followers again, where they have left; called now and then."""
        watermark, end = self._watermark.due(now), self._end.due(now)
        if watermark is None and end is None:
            return
        for channel in self._channels.values():
            self.send_due(channel)
            if channel.followers:
                continue
            if watermark is not None:
                self._queue_watermark(channel)
            if end is not None:
                self._queue(channel, end)

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Another plan is in force: what was said to the tasks of components that it changes, is void.

        A task of a changed component has to say anew how far it has come: other groups are its own now.
        """
        before, self._plan = self._plan, plan
        changed = affected(before, plan)
        self._hears = self._hearing(plan)
        self._bases.clear()
        if self._component in changed:
            self._watermark.signal, self.owes = None, False
            self._further.clear()
        elif self._watermark.signal is not None:
            self._bases = {name: self._least(before.tasks_of(name)) for name in changed}
        for task in plan.tasks:
            if task.component in changed and task.id in self._channels:
                self._channels[task.id].watermark = UNKNOWN

    def _least(self, tasks: Iterable[PlacedTask]) -> int:
        said = [self._channels[task.id].watermark for task in tasks if task.id in self._channels]
        return min(said, default=UNKNOWN)

    def begin_anew(self) -> None:
        """Another plan is in force, and waiting rows have been moved: followers go behind them.

        To a changed component they begin with the least that was said to any of its tasks: no row that waits
        is earlier than that, whomever it was for.
        """
        self.repeat_soon()
        self.owes = False
        watermark, end = self._watermark.signal, self._end.signal
        for channel in self._channels.values():
            channel.followers.clear()
            if channel.task in self._prepared:
                continue
            if watermark is not None and channel.task in self._hears:
                base = self._bases.get(self._plan.task(channel.task).component, UNKNOWN)
                if base > UNKNOWN:
                    channel.watermark = base
                    self._send(channel, Watermark(base))
                self._queue_watermark(channel)
            if end is not None:
                self._queue(channel, end)

    def _queue(self, channel: Channel, signal: Follower) -> None:
        if channel.task in self._prepared:
            return
        pending = channel.followers
        if isinstance(signal, Watermark) and len(pending) > 1 and isinstance(pending[-1].signal, Watermark):
            pending.pop()
        pending.append(PendingFollower(signal, channel.open))
        self.send_due(channel)
