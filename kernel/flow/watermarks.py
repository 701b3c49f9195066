"""The low watermark: how far event time has come over several channels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

#: before all time
UNKNOWN: Final = -(2**63)


class LowWatermark:
    """The minimum over channels that are not idle. It never goes back."""

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._said: dict[Hashable, tuple[int, bool]] = dict.fromkeys(channels, (UNKNOWN, False))
        self.value = UNKNOWN
        #: whether no channel is waited for
        self.idle = False

    def say(self, channel: Hashable, watermark: int, *, idle: bool = False) -> bool:
        """What a channel has said; returns whether that is news for those behind."""
        before, _ = self._said[channel]
        self._said[channel] = max(before, watermark), idle
        waited_for = [said for said, resting in self._said.values() if not resting]
        was = self.value, self.idle
        self.idle = not waited_for
        if waited_for:
            self.value = max(self.value, min(waited_for))
        return (self.value, self.idle) != was
