"""Wakes a process that waits for file descriptors, from a signal handler or another thread."""

from __future__ import annotations

import contextlib
import signal
import socket


class Wakeup:
    """A pair of sockets of which one becomes readable after `wake()`."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def fileno(self) -> int:
        return self._reader.fileno()

    def wake(self) -> None:
        """Safe from any thread and from a signal handler. A full buffer has woken the reader already."""
        with contextlib.suppress(OSError):
            self._writer.send(b"\0")

    def on_signals(self) -> None:
        """Also wake when a signal with a Python handler arrives. Main thread only."""
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def close(self) -> None:
        self._reader.close()
        self._writer.close()
