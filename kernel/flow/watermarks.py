"""The low watermark: how far event time has come over several channels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Final, NamedTuple

#: before all time
UNKNOWN: Final = -(2**63)
#: behind all time: what a channel says that has ended
END: Final = 2**63 - 1


class LowWatermark:
    """The minimum over channels that are neither idle nor ended; END if all have ended. It never sinks."""

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._said: dict[Hashable, tuple[int, bool]] = dict.fromkeys(channels, (UNKNOWN, False))
        self.value = UNKNOWN
        #: whether no channel is waited for
        self.idle = False

    @property
    def waited_for(self) -> list[Hashable]:
        """The channels that are neither idle nor ended."""
        return [channel for channel, (said, resting) in self._said.items() if said < END and not resting]

    def say(self, channel: Hashable, watermark: int, *, idle: bool = False) -> bool:
        """What a channel has said; returns whether that is news for those behind."""
        before, _ = self._said[channel]
        self._said[channel] = max(before, watermark), idle
        open_ones = [(said, resting) for said, resting in self._said.values() if said < END]
        waited_for = [said for said, resting in open_ones if not resting]
        was = self.value, self.idle
        self.idle = bool(open_ones) and not waited_for
        if not self.idle:
            self.value = max(self.value, min(waited_for, default=END))
        return (self.value, self.idle) != was


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
