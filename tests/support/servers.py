"""Servers that tests share: they outlive the test that started them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: process ids of those that run
running: set[str] = set()


class ServerProcess:
    """One server, by the process that it is."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] = {}) -> None:
        # it belongs to no test, and so to no test's home
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("HERONPY_")}
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**inherited, **environment},
            )
        running.add(str(self._process.pid))

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        # one that was stopped would not be reaped otherwise
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        running.discard(str(self._process.pid))


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """As many ports as nobody has at the moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((address, 0))
        return [each.getsockname()[1] for each in sockets]


def pyspark_folder() -> Path:
    """Where PySpark is, which brings the jars of Spark, ZooKeeper and Hadoop; it takes long to import."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
