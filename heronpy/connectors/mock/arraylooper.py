"""A generator that goes round in circles."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any

from heronpy.streamlet.context import Context
from heronpy.streamlet.impl.checks import refuse_unless
from heronpy.streamlet.impl.paced import PacedGenerator


class ArrayLooper(PacedGenerator):
    """The elements of an iterable, over and over, `sleep` seconds before each."""

    def __init__(self, user_iterable: Iterable[Any], sleep: float | None = None) -> None:
        super().__init__(sleep)
        refuse_unless(isinstance(user_iterable, Iterable), f"{user_iterable!r} cannot be looped over")
        self._user_iterable = user_iterable

    def setup(self, context: Context) -> None:  # noqa: ARG002 - each partition has all of it
        self._curiter = itertools.cycle(self._user_iterable)
        self.begin_pause()

    def get(self) -> Any:
        if (seconds := self.remaining()) > 0:
            time.sleep(seconds)
        self.begin_pause()
        return next(self._curiter)
