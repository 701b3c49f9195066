"""The instance processes of this container, by their beats. Decides; does no I/O."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from heronpy.kernel.protocol import ProcessBeat


class Change(NamedTuple):
    """What a beat brought."""

    #: whether the Topology Master must be told now: the process is new, or the state of a task has changed
    news: bool
    #: whether the incarnation is new here, or has other tasks
    arrived: bool


class Resident(NamedTuple):
    """A process that has registered: where it is connected, and its last beat."""

    identity: bytes
    beat: ProcessBeat

    @property
    def tasks(self) -> list[int]:
        return [instance.task for instance in self.beat.instances]


_STALE = Change(False, False)


class Residents:
    """The newest incarnation in each slot wins, for all its tasks; beats of older ones are ignored."""

    def __init__(self) -> None:
        self._by_slot: dict[int, Resident] = {}

    def on_beat(self, identity: bytes, beat: ProcessBeat) -> Change:
        known = self._by_slot.get(beat.slot)
        if known is not None and beat.incarnation < known.beat.incarnation:
            return _STALE
        resident = self._by_slot[beat.slot] = Resident(identity, beat)
        if known is None or beat.incarnation > known.beat.incarnation or resident.tasks != known.tasks:
            return Change(news=True, arrived=True)
        return Change(news=_told(known.beat) != _told(beat), arrived=False)

    def retain(self, tasks: Container[int]) -> None:
        """Forget processes without a task in the plan; one that the next plan has comes back with a beat."""
        for slot, resident in list(self._by_slot.items()):
            if not any(task in tasks for task in resident.tasks):
                del self._by_slot[slot]

    def processes(self) -> list[Resident]:
        """By slot."""
        return [self._by_slot[slot] for slot in sorted(self._by_slot)]


#: fields of a task that do not trigger an immediate report to the Topology Master
_NO_NEWS = ("busy", "traceback", "held_up_by", "held_seconds", "held", "unchanged_since")


def _told(beat: ProcessBeat) -> bytes:
    told = ProcessBeat()
    told.CopyFrom(beat)
    for instance in told.instances:
        for name in _NO_NEWS:
            instance.ClearField(name)
    return told.SerializeToString(deterministic=True)
