"""Links that lose some kinds of frames."""

from __future__ import annotations

import random

from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.kernel.flow.frame import CREDIT, SIGNAL, unseal
from heronpy.kernel.flow.signals import Watermark, decode_signal


class WatermarkLoss:
    """Which watermarks are lost, as with a Stream Manager that dies."""

    def __init__(self, dice: random.Random, share: float) -> None:
        self._dice, self._share = dice, share
        self.lost = 0

    @property
    def total(self) -> bool:
        """Whether none comes through."""
        return self._share == 1

    def takes(self, prefix: bytes, payload: bytes) -> bool:
        signal = decode_signal(payload) if unseal(prefix, payload).kind == SIGNAL else None
        taken = isinstance(signal, Watermark) and self._dice.random() < self._share
        self.lost += taken
        return taken

    def calm(self) -> None:
        """Lose nothing from now on."""
        self._share = 0.0


class ForgetfulLinks(MemoryLinks):
    """Keep the order of all frames and lose some watermarks."""

    def __init__(self, loss: WatermarkLoss) -> None:
        super().__init__()
        self._loss = loss

    def carry(self, prefix: bytes, payload: bytes) -> None:
        if not self._loss.takes(prefix, payload):
            super().carry(prefix, payload)


class StingyLinks(MemoryLinks):
    """No credit comes through while they are told so."""

    stingy = False

    def carry(self, prefix: bytes, payload: bytes) -> None:
        if not (self.stingy and unseal(prefix, payload).kind == CREDIT):
            super().carry(prefix, payload)
