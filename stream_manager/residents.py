"""The instances of this container, by their beats. Decides; does no I/O."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from heronpy.kernel.protocol import InstanceBeat


class Change(NamedTuple):
    """What a beat brought."""

    #: whether the Topology Master must be told now: the instance is new, or its state has changed
    news: bool
    #: whether the incarnation is new here
    arrived: bool


_STALE = Change(False, False)


class Residents:
    """The newest incarnation of each local task wins; beats of older ones are ignored."""

    def __init__(self) -> None:
        self._beats: dict[int, InstanceBeat] = {}
        self._identities: dict[int, bytes] = {}

    def on_beat(self, identity: bytes, beat: InstanceBeat) -> Change:
        known = self._beats.get(beat.task)
        if known is not None and beat.incarnation < known.incarnation:
            return _STALE
        arrived = known is None or beat.incarnation > known.incarnation
        news = arrived or known is None or _told(known) != _told(beat)
        self._beats[beat.task] = beat
        self._identities[beat.task] = identity
        return Change(news, arrived)

    def retain(self, tasks: Container[int]) -> None:
        """Forget instances that are not in the plan; if one is in the next plan, its beats bring it back."""
        for task in [task for task in self._beats if task not in tasks]:
            del self._beats[task], self._identities[task]

    def beats(self) -> list[InstanceBeat]:
        return [self._beats[task] for task in sorted(self._beats)]

    def identities(self) -> list[bytes]:
        return [self._identities[task] for task in sorted(self._identities)]


#: fields that do not trigger an immediate report to the Topology Master
_NO_NEWS = ("busy", "traceback", "held_up_by", "held_seconds", "held", "unchanged_since")


def _told(beat: InstanceBeat) -> bytes:
    told = InstanceBeat()
    told.CopyFrom(beat)
    for name in _NO_NEWS:
        told.ClearField(name)
    return told.SerializeToString(deterministic=True)
