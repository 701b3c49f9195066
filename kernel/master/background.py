"""Long work runs in a second thread, so that beats are answered meanwhile."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from heronpy.kernel.transport import Reactor

T = TypeVar("T")


class BackgroundWorker:
    """One piece of work at a time, in order. Each result is delivered in the reactor's thread."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        #: makes the calls that deliver results
        self.guard: Callable[[Callable[[], None]], None] = _call
        self._waiting: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """`done` gets what `work` returned, or the exception that it raised."""

        def go() -> None:
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._reactor.call_from_thread(lambda: self.guard(lambda: done(outcome)))

        self._waiting.put(go)

    def close(self) -> None:
        """Returns when the work that runs is over."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()


def _call(call: Callable[[], None]) -> None:
    call()
