"""The driver's port at which Spark's tasks ask to start their container, and see when it must end."""

from __future__ import annotations

import hmac
import secrets
import selectors
import socket
import threading

from heronpy.kernel.machine.wakeup import Wakeup

#: most bytes that a task may send before it is admitted
LONGEST_HELLO = 256

LET_IN = b"!"


class Door:
    """One connection per running container, which ends with it: closed by the driver, or by its death.

    A start that was withdrawn is not admitted, so a task that Spark starts late starts no container.
    """

    def __init__(self, address: str, port: int) -> None:
        self._token = secrets.token_hex(16)
        self._listener = socket.create_server((address, port), backlog=128)
        self.address: tuple[str, int] = (address, self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._expected: set[int] = set()
        self._inside: dict[int, socket.socket] = {}
        self._wakeup = Wakeup()
        self._closing = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="spark-door", daemon=True)
        self._thread.start()

    def expect(self, start: int) -> bytes:
        """Admit the task of this start; returns the token that it must send."""
        with self._lock:
            self._expected.add(start)
        return self._hello(start)

    def withdraw(self, start: int) -> bool:
        """Admit no task of this start any more, and end its container; returns whether one was admitted."""
        with self._lock:
            self._expected.discard(start)
            inside = self._inside.pop(start, None)
            if inside is not None:
                _hang_up(inside)
            return inside is not None

    def let_in(self, start: int) -> bool:
        """Whether its task has come."""
        with self._lock:
            return start not in self._expected

    def close(self) -> None:
        """Every container that is still connected ends."""
        self._closing = True
        self._wakeup.wake()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._wakeup.close()

    def _hello(self, start: int) -> bytes:
        return f"{self._token} {start}\n".encode()

    def _serve(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._read(key.fileobj, key.data)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it has disconnected
            return
        connection.setblocking(False)
        self._selector.register(connection, selectors.EVENT_READ, bytearray())

    def _read(self, connection: socket.socket, received: bytearray) -> None:
        try:
            data = connection.recv(LONGEST_HELLO)
        except OSError:
            data = b""
        received += data
        if (
            not data
            or len(received) > LONGEST_HELLO
            or (received.endswith(b"\n") and not self._admit(connection, received))
        ):
            self._selector.unregister(connection)
            connection.close()

    def _admit(self, connection: socket.socket, received: bytearray) -> bool:
        with self._lock:
            for start in self._expected:
                if hmac.compare_digest(bytes(received), self._hello(start)):
                    connection.sendall(LET_IN)
                    self._expected.discard(start)
                    self._inside[start] = connection
                    return True
        return False


def _hang_up(connection: socket.socket) -> None:
    """Close the connection; the serving thread sees that and forgets it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # the other side was faster
        return
