"""The low watermark: how far event time has come over several channels."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Hashable, Iterable
from typing import Final, NamedTuple

#: before all time
UNKNOWN: Final = -(2**63)
#: behind all time: what a channel says that has ended
END: Final = 2**63 - 1
#: entries that hold no longer, of which a heap is rid when there are more of them than others
_SPARE: Final = 8


class LowWatermark:
    """The minimum over channels that are neither idle nor ended; END if all have ended. It never sinks.

    Thousands may speak a hundred times a second: those that are waited for are in a heap.
    """

    def __init__(self, channels: Iterable[Hashable]) -> None:
        #: how far each channel is, of those that are waited for, and of those that are idle
        self._waited_for: dict[Hashable, int] = dict.fromkeys(channels, UNKNOWN)
        self._resting: dict[Hashable, int] = {}
        self._number = itertools.count()
        #: how far a channel is or was, and a number that no other entry has
        self._heap: list[tuple[int, int, Hashable]] = []
        self.value = UNKNOWN
        #: whether no channel is waited for
        self.idle = False
        self._build()

    @property
    def waited_for(self) -> Collection[Hashable]:
        """The channels that are neither idle nor ended."""
        return self._waited_for.keys()

    def say(self, channel: Hashable, watermark: int, *, idle: bool = False) -> bool:
        """What a channel has said; returns whether that is news for those behind."""
        was_idle = channel in self._resting
        before = (self._resting if was_idle else self._waited_for).get(channel, END)
        if before == END or (watermark <= before and idle == was_idle):
            return False
        self._enter(channel, max(before, watermark), idle)
        was = self.value, self.idle
        self.idle = bool(self._resting) and not self._waited_for
        if not self.idle:
            self.value = max(self.value, self._lowest())
        return (self.value, self.idle) != was

    def _enter(self, channel: Hashable, at: int, idle: bool) -> None:
        """Where the channel is now; nowhere if it has ended."""
        if at == END or idle:
            self._waited_for.pop(channel, None)
        if at == END or not idle:
            self._resting.pop(channel, None)
        if at == END:
            return
        if idle:
            self._resting[channel] = at
            return
        self._waited_for[channel] = at
        heapq.heappush(self._heap, (at, next(self._number), channel))
        if len(self._heap) > 2 * len(self._waited_for) + _SPARE:
            self._build()

    def _build(self) -> None:
        self._heap = [(at, next(self._number), channel) for channel, at in self._waited_for.items()]
        heapq.heapify(self._heap)

    def _lowest(self) -> int:
        """The first entry that holds; those before it are of channels that have gone on."""
        while self._heap:
            at, _, channel = self._heap[0]
            if self._waited_for.get(channel) == at:
                return at
            heapq.heappop(self._heap)
        return END


class _Said(NamedTuple):
    at: int
    idle: bool


class ChannelWatermarks:
    """What the channels of a task have said of event time, and the lowest of it.

    A channel is *unknown* until it has spoken by the plan that made it so, or by a later one: what it said by
    an earlier plan does not hold for the rows of this one. While one is unknown there is no minimum.
    """

    def __init__(self, channels: Iterable[int], epoch: int) -> None:
        #: channel → the first epoch whose watermarks count
        self._since = dict.fromkeys(channels, epoch)
        self._said: dict[int, _Said] = {}

    def say(self, channel: int, epoch: int, at: int, *, idle: bool) -> None:
        """A channel has come so far, by the plan of this epoch."""
        since = self._since.get(channel)
        if since is None or epoch < since:
            return
        before = self._said.get(channel)
        self._said[channel] = _Said(max(before.at, at) if before is not None else at, idle)

    def use_plan(self, channels: Collection[int], changed: Iterable[int], epoch: int) -> None:
        """These are the channels from now on; those that are new or changed are unknown."""
        self._since = {channel: self._since.get(channel, epoch) for channel in channels}
        self._since.update((channel, epoch) for channel in changed if channel in self._since)
        self._said = {
            channel: said
            for channel, said in self._said.items()
            if channel in self._since and self._since[channel] < epoch
        }

    @property
    def low(self) -> tuple[int, bool] | None:
        """The minimum over channels that are neither idle nor ended, and whether all open ones are idle.

        None while a channel is unknown, or if there are none. END if all have ended.
        """
        if not self._since or len(self._said) < len(self._since):
            return None
        open_ones = [said for said in self._said.values() if said.at < END]
        waited_for = [said.at for said in open_ones if not said.idle]
        if open_ones and not waited_for:
            return UNKNOWN, True
        return min(waited_for, default=END), False

    @property
    def lowest(self) -> int | None:
        """The channel that is waited for: an unknown one, else the one that is furthest behind.

        Safe from any thread.
        """
        since, known = list(self._since), dict(self._said)
        unknown = [channel for channel in since if channel not in known]
        if unknown:
            return min(unknown)
        behind = [(said.at, channel) for channel, said in known.items() if not said.idle and said.at < END]
        return min(behind, default=(END, None))[1]
