"""What runs on a Spark executor: one container, from its start to its end.

It is sent there by value and must get by with a bare Python: nothing of heronpy may be imported here.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

#: of the executor's environment, what a container may see; Spark's own variables would confuse its Python
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")

#: how long the driver may take to answer whether the container may start
ANSWER_SECONDS = 30.0

#: SIGKILL takes effect at once unless a process hangs in the kernel
KILL_SECONDS = 5.0

#: bytes of the container's last output that are kept, to find the reason of its end there
TAIL = 4096


class Order(NamedTuple):
    """All that a task is given."""

    #: which start of which container this is, with the token that the driver accepts
    hello: bytes
    #: where the driver listens
    door: tuple[str, int]
    #: how to start the container; an empty first word is the Python of Spark's workers
    argv: tuple[str, ...]
    environment: dict[str, str]
    #: files of its folder: name there → name among the files that Spark has shipped
    files: dict[str, str]
    #: files of its folder that no other account may read: name → content
    secrets: dict[str, bytes]
    #: where its output goes; empty where only the executor's own log is at hand
    log: str
    #: seconds that it may take to end by itself
    patience: float


class End(NamedTuple):
    """How the container ended; no status if it was not started."""

    status: int | None
    #: the last line of its output
    reason: str = ""


def run(order: Order) -> End:
    """Start the container if it is still wanted, and wait for its end; the driver disconnects to end it."""
    with socket.create_connection(order.door, ANSWER_SECONDS) as driver:
        driver.sendall(order.hello)
        if not driver.recv(1):
            return End(None, "it was not wanted any more")
        if not order.files:
            return _attend(order, None, driver)
        # Spark removes this folder with the executor, even if this task is killed
        spark_folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
        folder = tempfile.mkdtemp(prefix="heronpy-", dir=spark_folder or None)
        try:
            _lay_out(order, Path(folder))
            return _attend(order, folder, driver)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _lay_out(order: Order, folder: Path) -> None:
    from pyspark import SparkFiles

    for name, shipped in order.files.items():
        (folder / name).symlink_to(SparkFiles.get(shipped))
    for name, content in order.secrets.items():
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)


def _attend(order: Order, folder: str | None, driver: socket.socket) -> End:
    container = _start(order, folder, driver)
    assert container.stdin is not None
    first = os.pidfd_open(container.pid)
    tail = b""
    try:
        poll = select.poll()
        poll.register(first, select.POLLIN)
        poll.register(driver, select.POLLIN)
        if container.stdout is not None:
            os.set_blocking(container.stdout.fileno(), False)
            poll.register(container.stdout, select.POLLIN)
        deadline = float("inf")
        while time.monotonic() < deadline:
            left = deadline - time.monotonic()
            ready = [each for each, _ in poll.poll(None if left == float("inf") else left * 1000)]
            if container.stdout is not None and container.stdout.fileno() in ready:
                tail = _pass_on(container.stdout.fileno(), tail, poll)
            if first in ready:
                break
            if driver.fileno() in ready:
                # the driver never sends anything: readable means that it has closed, or is gone
                poll.unregister(driver)
                deadline = time.monotonic() + order.patience
                # no signal: it would kill a container that is still unpacking, and leave its files behind
                container.stdin.close()
        _kill_session(container.pid)
        if container.stdout is not None:
            tail = _pass_on(container.stdout.fileno(), tail, poll)
    finally:
        os.close(first)
        container.stdin.close()
        if container.stdout is not None:
            container.stdout.close()
    status = container.wait()
    lines = tail.decode(errors="replace").strip().splitlines()
    return End(status, lines[-1].strip().removeprefix("error: ") if lines else "")


def _start(order: Order, folder: str | None, driver: socket.socket) -> subprocess.Popen[bytes]:
    """In a session of its own, with a pipe as its lifeline: when this task is killed, the pipe closes."""
    inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    here = {} if folder is None else {"_HERONPY_HOST": driver.getsockname()[0]}
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(open(order.log, "ab")) if order.log else subprocess.PIPE
        return subprocess.Popen(
            [order.argv[0] or sys.executable, *order.argv[1:]],
            cwd=folder,
            env={**inherited, **here, **order.environment},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
        )


def _pass_on(output: int, tail: bytes, poll: select.poll) -> bytes:
    """What the container wrote goes to the executor's log; the end of it is remembered."""
    with contextlib.suppress(BlockingIOError):
        while data := os.read(output, 65536):
            os.write(2, data)
            tail = (tail + data)[-TAIL:]
        # all its processes have closed it
        with contextlib.suppress(KeyError):
            poll.unregister(output)
    return tail


def _kill_session(leader: int) -> None:
    """Until nothing is left; the leader itself is not waited for yet, so its pid cannot be reused."""
    deadline = time.monotonic() + KILL_SECONDS
    while (members := _session(leader)) and time.monotonic() < deadline:
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _session(leader: int) -> list[int]:
    """Live processes of a session or of its leader's group."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                # the name in brackets may contain anything; state, parent, group and session follow it
                state, _, group, session = (
                    Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:4]
                )
                if state not in "ZX" and leader in (int(group), int(session)):
                    found.append(int(entry))
    return found
