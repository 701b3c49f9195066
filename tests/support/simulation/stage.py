"""Lets simulated processes wait in the middle of a call: threads of which exactly one runs at a time.

Who waits keeps its stack on its thread, and another thread goes on with the world. Nothing depends on how the
operating system schedules threads: each of them names the one that runs next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def _shut() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class Stage:
    """Runs `step` again and again, on whichever thread is free."""

    def __init__(self, step: Callable[[], bool]) -> None:
        #: does one thing; False when the caller of play() is to go on
        self._step = step
        self._caller = _shut()
        self._idle: list[threading.Lock] = []
        self._threads: list[threading.Thread] = []
        self._over = False
        self._failure: BaseException | None = None

    def play(self) -> None:
        """Step until there is nothing to do; what a step raises comes out here."""
        self._hand_on()
        self._caller.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def wait(self, park: Callable[[Any], None]) -> None:
        """Called inside a step: let the world go on until somebody gives what `park` is told to resume()."""
        mine = _shut()
        park(mine)
        self._hand_on()
        mine.acquire()

    def resume(self, waiting: threading.Lock) -> None:
        """Called by a step: the one who waits goes on, and this thread rests."""
        self._rest(waiting)

    def close(self) -> None:
        """End all threads; nobody may be waiting any more."""
        self._over = True
        for lock in self._idle:
            lock.release()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._over:
            try:
                goes_on = self._step()
            except BaseException as error:
                self._failure = error
                goes_on = False
            if not goes_on:
                self._rest(self._caller)

    def _rest(self, other: threading.Lock) -> None:
        mine = _shut()
        self._idle.append(mine)
        other.release()
        mine.acquire()

    def _hand_on(self) -> None:
        if self._idle:
            self._idle.pop().release()
        else:
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()
