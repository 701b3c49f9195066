"""How far event time has come for each key group of a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heronpy.kernel.flow.watermarks import END, UNKNOWN


class GroupWatermarks:
    """Every group has a watermark of its own, which never sinks, whichever task owns the group.

    In quiet times those of a task agree, and it is one number. After a change of plan or a restore, groups
    come with what they had: each keeps that until the channels of the task have caught up with it.
    """

    def __init__(self, groups: Iterable[int] = ()) -> None:
        self._groups = frozenset(groups)
        #: how far the channels have come
        self._reached = UNKNOWN
        #: group → its own watermark, of those that are further
        self._ahead: dict[int, int] = {}
        #: the lowest of all groups
        self.floor = UNKNOWN

    @property
    def differ(self) -> bool:
        """Whether a group may be further than the floor."""
        return bool(self._ahead)

    def of(self, group: int) -> int:
        """The watermark of one group."""
        return self._ahead.get(group, self._reached)

    def advance(self, reached: int) -> None:
        """The channels have come so far."""
        if reached <= self._reached:
            return
        self._reached = reached
        self._ahead = {group: own for group, own in self._ahead.items() if own > reached}
        self._look()

    def begin_anew(self, groups: Iterable[int], came: Mapping[int, int]) -> None:
        """The task owns these groups from now on, some of which came with a watermark; channels are unknown.

        The floor may be lower than before.
        """
        kept = {group: self.of(group) for group in self._groups} | dict(came)
        self._groups = frozenset(groups)
        self._reached = UNKNOWN
        self._ahead = {group: own for group in self._groups if (own := kept.get(group, UNKNOWN)) > UNKNOWN}
        self._look()

    def all(self) -> dict[int, int]:
        """Group → its watermark, of those that have one."""
        return {group: at for group in sorted(self._groups) if (at := self.of(group)) > UNKNOWN}

    def _look(self) -> None:
        short = len(self._ahead) < len(self._groups) or not self._groups
        self.floor = self._reached if short else min(self._ahead.values(), default=END)
