"""Servers that tests share: they outlive the test that started them."""

from __future__ import annotations

import importlib.util
import itertools
import os
import random
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: process ids of those that run
running: set[str] = set()

#: below those that the kernel gives away; each process of a test run has a thousand of its own
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_FIRST = 21_000 + 1000 * (_WORKER % 10)
_PORTS = iter(random.sample(range(_FIRST, _FIRST + 1000), 1000))


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
    """As many ports as nobody has, and nobody gets who asks for any: a server may begin to listen late."""
    found = list(itertools.islice((port for port in _PORTS if _is_free(address, port)), count))
    assert len(found) == count, "all have been given away"
    return found


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def pyspark_folder() -> Path:
    """Where PySpark is, which brings the jars of Spark, ZooKeeper and Hadoop; it takes long to import."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
