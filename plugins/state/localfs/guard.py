"""The lock of the tree and the counter that versions come from."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator

from heronpy.kernel.errors import StateError
from heronpy.plugins.state.localfs.descriptor import Descriptor

#: how long to wait for the lock, which a running process holds only for a moment
LOCK_SECONDS = 10.0

#: between two attempts
SHORTEST_PAUSE, LONGEST_PAUSE = 0.0002, 0.01

_COUNTER = struct.Struct("<Q")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeLock:
    """Lets one thread of one process change the tree at a time."""

    def __init__(self, root: Descriptor) -> None:
        self._lock = Descriptor(os.open("@lock", _FLAGS, 0o600, dir_fd=root.fileno()))
        self._counter = Descriptor(os.open("@version", _FLAGS, 0o600, dir_fd=root.fileno()))
        # flock excludes processes, not the threads that share one descriptor
        self._threads = threading.RLock()
        self._depth = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; the thread that has it may enter again. It is released if the holder dies."""
        self._lock.fileno()
        with self._threads:
            self._depth += 1
            try:
                if self._depth == 1:
                    self._acquire()
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    fcntl.flock(self._lock.fileno(), fcntl.LOCK_UN)

    def try_briefly(self, work: Callable[[], None]) -> None:
        """Do optional work if the lock is free now."""
        try:
            fcntl.flock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        try:
            work()
        finally:
            fcntl.flock(self._lock.fileno(), fcntl.LOCK_UN)

    def _acquire(self) -> None:
        """With a timeout: a stopped holder must not block the processes that would find and end it."""
        deadline, pause = time.monotonic() + LOCK_SECONDS, SHORTEST_PAUSE
        while True:
            try:
                fcntl.flock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    msg = f"another process has kept the state folder locked for {LOCK_SECONDS:g} s"
                    raise StateError(
                        msg, hint="retry later, or continue it if `ps` shows it stopped (T)"
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                return

    def next_version(self, after: int) -> int:
        """A version that no node had, larger than `after`. Wants the lock.

        The counter is not synced to disk: no process that remembers an older version survives a power
        failure, and `after` keeps the versions of each node growing. A counter that is lost starts at the
        clock in microseconds: no tree is changed that often, so this is past all that were given.
        """
        stored = os.pread(self._counter.fileno(), _COUNTER.size, 0)
        last = _COUNTER.unpack(stored)[0] if len(stored) == _COUNTER.size else time.time_ns() // 1000
        version = int(max(last, after)) + 1
        os.pwrite(self._counter.fileno(), _COUNTER.pack(version), 0)
        return version

    def close(self) -> None:
        self._lock.close()
        self._counter.close()
