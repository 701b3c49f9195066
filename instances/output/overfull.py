"""Lanes that hold more rows than a full batch, because the task finishes its call instead of waiting."""

from __future__ import annotations

from heronpy.instances.exposure import Exposure
from heronpy.instances.output.channel import Lane


class Overfull(dict[Lane, None]):
    """While there is any such lane, the task pauses: its user code is not called.

    A dict, because it is asked after every call of user code. Every lane is exposed with `usual` rows from
    the beginning; one that may hold more is added here for as long as it may.
    """

    def __init__(self, exposure: Exposure, usual: int) -> None:
        super().__init__()
        self._exposure = exposure
        self._usual = usual
        self._exposed = 0

    def grow(self, lane: Lane) -> None:
        """Let a full lane take as many rows again."""
        self[lane] = None
        lane.limit *= 2
        self._expose()

    def shrink(self, lane: Lane) -> None:
        """After sending from such a lane: it is normal again, or still too full."""
        if len(lane.rows) < lane.limit:
            self.leave(lane)
        else:
            self.grow(lane)

    def leave(self, lane: Lane) -> None:
        """The lane holds no more than any other, or nothing leaves from it any more."""
        if self.pop(lane, self) is None:
            self._expose()

    def _expose(self) -> None:
        exposed = sum(max(0, lane.limit - self._usual) for lane in self)
        if exposed != self._exposed:
            self._exposure.add(exposed - self._exposed)
            self._exposed = exposed
