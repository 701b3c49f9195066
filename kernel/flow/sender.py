"""The task that a frame comes from, as the prefix of each of its frames names it."""

from __future__ import annotations

from heronpy.kernel.flow.frame import SIGNAL, Prefix, seal
from heronpy.kernel.flow.signals import Signal, encode_signal


class Sender:
    """Seals the frames of one task. One object for all parts of the task, so that they agree on the epoch."""

    __slots__ = ("epoch", "incarnation", "run", "task")

    def __init__(self, task: int, incarnation: int, epoch: int, run: int = 0) -> None:
        self.task = task
        self.incarnation = incarnation
        #: of the plan that the task works by; changes with it
        self.epoch = epoch
        self.run = run

    def frame(
        self,
        kind: int,
        destination: int,
        payload: bytes,
        *,
        stream: int = 0,
        tuples: int = 0,
        position: int = 0,
    ) -> tuple[bytes, bytes]:
        """The two parts of a frame to another task."""
        return seal(self.prefix(kind, destination, stream, tuples, position), payload)

    def prefix(self, kind: int, destination: int, stream: int, tuples: int, position: int) -> Prefix:
        """What is known of a frame to another task."""
        return Prefix(
            kind, destination, self.task, stream, tuples, self.epoch, self.incarnation, self.run, position
        )

    def signal(self, destination: int, signal: Signal, position: int) -> tuple[bytes, bytes]:
        """A signal behind all that was sent before `position`."""
        return self.frame(SIGNAL, destination, encode_signal(signal), position=position)
