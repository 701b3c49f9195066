"""Whether anything that a task has emitted is not done with yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heronpy.instances.output.channel import Channel, Lane
from heronpy.instances.output.following import Following
from heronpy.instances.output.hold_ups import HoldUps


class Settling:
    """Looks at all channels of an outbox."""

    def __init__(
        self,
        channels: Mapping[int, Channel],
        unsent: Collection[Lane],
        following: Following,
        hold_ups: HoldUps,
    ) -> None:
        self._channels = channels
        self._unsent = unsent
        self._following = following
        self._hold_ups = hold_ups

    @property
    def idle(self) -> bool:
        """Whether no row is left here, and all that was sent has been consumed."""
        return not self._unsent and all(channel.spending.idle for channel in self._channels.values())

    @property
    def quiet(self) -> bool:
        """Whether there is, besides, nothing to repeat, to probe for or to wait for."""
        held = any(channel.held for channel in self._channels.values())
        return self.idle and not held and not self._following.repeats and not self._hold_ups
