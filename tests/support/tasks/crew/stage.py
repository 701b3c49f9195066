"""Threads of which exactly one runs at a time: who waits in the middle of a call keeps its stack."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Player:
    """Runs a function a piece at a time: from one pause() to the next."""

    def __init__(self, play: Callable[[], None]) -> None:
        self._play = play
        self._mine = threading.Semaphore(0)
        self._others = threading.Semaphore(0)
        self._failure: BaseException | None = None
        self.over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Called by whoever directs: the next piece. What it raises comes out here."""
        if self.over:
            return
        self._mine.release()
        self._others.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def pause(self) -> None:
        """Called inside the function: the others' turn."""
        self._others.release()
        self._mine.acquire()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        self._mine.acquire()
        try:
            self._play()
        except BaseException as error:
            self._failure = error
        self.over = True
        self._others.release()
