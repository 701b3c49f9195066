"""A TCP proxy that can hold back what passes, and break connections as a network does."""

from __future__ import annotations

import contextlib
import fcntl
import selectors
import socket
import struct
import sys
import termios
import threading
import time
from types import TracebackType
from typing import Self

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class FaultProxy:
    """Stands in front of one endpoint; faults may come from any thread."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._held = False
        self._closing = False
        self.resets = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hold(self) -> None:
        """Nothing passes any more, in either direction; connections stay."""
        with self._lock:
            self._held = True

    def release(self) -> None:
        self._held = False

    def waiting(self) -> int:
        """Bytes that have come and do not pass."""
        with self._lock:
            counts = [fcntl.ioctl(side, termios.FIONREAD, bytes(4)) for side in self._pairs]
        return sum(int.from_bytes(count, sys.byteorder) for count in counts)

    def reset(self) -> None:
        """Every connection ends with a reset; what was on it is gone."""
        with self._lock:
            for side in self._pairs:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                side.close()
            self.resets += len(self._pairs) // 2
            self._pairs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._thread.join(5)
        self.reset()
        self._listener.close()

    def _run(self) -> None:
        while not self._closing:
            with self._lock:
                self._turn()
            time.sleep(0.0002)  # or nobody else would ever get the lock

    def _turn(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            for side in [] if self._held else self._pairs:
                selector.register(side, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(0.002)]
        for source in ready:
            if source is self._listener:
                self._accept()
            elif isinstance(source, socket.socket) and source in self._pairs:
                self._copy(source)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        self._pairs[near], self._pairs[far] = far, near

    def _copy(self, side: socket.socket) -> None:
        other = self._pairs[side]
        data = b""
        with contextlib.suppress(OSError):
            data = side.recv(1 << 16)
        try:
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            del self._pairs[side], self._pairs[other]
            side.close()
            other.close()
