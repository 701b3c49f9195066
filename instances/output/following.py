"""Followers on their way out: signals that overtake no row emitted before them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from heronpy.instances.output.channel import Channel, PendingFollower
from heronpy.kernel.flow.signals import Follower

#: seconds between two repeats of a follower, at most
LONGEST_PAUSE = 60.0


class Following:
    """Sends a follower to every receiver of a task, on each channel once the rows before it have left.

    The last follower is a level, not a step: it is repeated, because the frame may be lost with a Stream
    Manager and the receiver may be replaced. Receivers take a repeat as no news. Repeats become rarer with
    time: all emitters send them to all receivers.
    """

    def __init__(
        self,
        channels: Mapping[int, Channel],
        prepared: Collection[int],
        send: Callable[[Channel, Follower], None],
        repeat: float,
    ) -> None:
        self._channels = channels
        #: tasks of a plan that is not in force: rows that wait may still be routed to them
        self._prepared = prepared
        self._send = send
        #: seconds from a follower to its first repeat; each pause is twice the one before
        self._shortest = self._pause = repeat
        self._repeat_at = 0.0
        self._last: Follower | None = None

    def follow(self, signal: Follower) -> None:
        """From now on every receiver is to have this signal, behind all rows emitted so far."""
        self._last = signal
        self.repeat_soon()
        for channel in self._channels.values():
            self._queue(channel, signal)

    def repeat_soon(self) -> None:
        """A receiver may have missed the last follower: it is new."""
        self._pause, self._repeat_at = self._shortest, 0.0

    def send_due(self, channel: Channel) -> None:
        """Rows have left a channel, or may leave again."""
        pending = channel.followers
        while pending and not channel.held and pending[0].due:
            self._send(channel, pending.popleft().signal)

    def repeat(self, now: float) -> None:
        """Send the last follower again, where it has left; called now and then."""
        if self._last is None or now < self._repeat_at:
            return
        self._repeat_at = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        for channel in self._channels.values():
            self.send_due(channel)
            if not channel.followers:
                self._queue(channel, self._last)

    def begin_anew(self) -> None:
        """Another plan is in force, and waiting rows have been moved: followers go behind them."""
        self.repeat_soon()
        for channel in self._channels.values():
            channel.followers.clear()
            if self._last is not None:
                self._queue(channel, self._last)

    def _queue(self, channel: Channel, signal: Follower) -> None:
        if channel.task not in self._prepared:
            channel.followers.append(PendingFollower(signal, channel.open))
            self.send_due(channel)
