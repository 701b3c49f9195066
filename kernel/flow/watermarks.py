"""The low watermark: how far event time has come over several channels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

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
