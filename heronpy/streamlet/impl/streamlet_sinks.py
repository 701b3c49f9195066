"""Where streamlets end: in the log, or in a function."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heronpy.connectors import Sink, Writer

log = logging.getLogger("heronpy.streamlet")


@dataclass(frozen=True)
class LogSink(Sink[Any]):
    """A line of the log for each element; of standard error, where nothing logs."""

    name = "log"

    def open(self, owner: str) -> Writer[Any]:  # noqa: ARG002 - the log says whose it is
        if not log.hasHandlers():
            log.addHandler(logging.StreamHandler(sys.stderr))
            log.setLevel(logging.INFO)
        return _Calls(lambda element: log.info("%s", element))


@dataclass(frozen=True)
class ConsumeSink(Sink[Any]):
    """Calls a function for each element, and again for some after a crash."""

    name = "consume"
    function: Callable[[Any], Any]

    def open(self, owner: str) -> Writer[Any]:  # noqa: ARG002 - the function is all there is
        return _Calls(self.function)


class _Calls(Writer[Any]):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def write(self, records: Sequence[Any]) -> None:
        for record in records:
            self._function(record)
