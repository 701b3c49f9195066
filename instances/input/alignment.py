"""Where a checkpoint cuts the input of a task: behind the same barrier on every channel."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from heronpy.kernel.flow.signals import Barrier

Item = TypeVar("Item")


class Alignment(Generic[Item]):
    """Sets aside what comes behind a barrier, until the barrier has arrived on all channels.

    Frames that are set aside have not been consumed, so credit bounds them. A later barrier replaces the
    awaited one: a checkpoint begins only after the previous one is complete or aborted.
    """

    def __init__(self, inbox: deque[Item | Barrier], channels: Iterable[int]) -> None:
        self._inbox = inbox
        self._channels = set(channels)
        #: the checkpoint whose barriers are awaited; 0 for none
        self._awaited = 0
        #: barriers up to this one are over, one way or the other
        self._over = 0
        self._aside: deque[Item] = deque()
        #: channels whose barrier has come while others' are awaited: what they bring is to be set aside
        self.ahead: set[int] = set()

    @property
    def holds_back(self) -> bool:
        """Whether something has been set aside."""
        return bool(self._aside)

    def set_aside(self, item: Item) -> None:
        """Keep an item of a channel that is ahead."""
        self._aside.append(item)

    def on_barrier(self, channel: int, checkpoint: int) -> None:
        """A barrier has come, behind everything that came on this channel before."""
        if checkpoint <= self._over or checkpoint < self._awaited:
            return
        if checkpoint > self._awaited:
            self._let_go()
            self._awaited = checkpoint
        self.ahead.add(channel)
        self._check()

    def give_up(self, checkpoint: int) -> None:
        """This checkpoint, and any before it, will not be completed."""
        if 0 < self._awaited <= checkpoint:
            self._let_go()
        self._over = max(self._over, checkpoint)

    def on_restart(self, channel: int) -> None:
        """The emitter of a channel was replaced: frames before and after that are not one consistent cut."""
        if channel in self._channels:
            self.stop()

    def stop(self) -> None:
        """The checkpoint that is awaited, if any, will not be completed."""
        self.give_up(self._awaited)

    def use_channels(self, channels: Iterable[int]) -> None:
        """These are the channels from now on; one that is gone is awaited no longer."""
        self._channels = set(channels)
        self.ahead &= self._channels
        if self._awaited:
            self._check()

    def _check(self) -> None:
        if self.ahead >= self._channels:
            self._over = self._awaited
            self._inbox.append(Barrier(self._awaited))
            self._let_go()

    def _let_go(self) -> None:
        self._awaited = 0
        self.ahead.clear()
        self._inbox.extend(self._aside)
        self._aside.clear()
