"""One container: a process that leads a group, seen through its pidfd."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from pathlib import Path

from heronpy.kernel.machine.private import make_private
from heronpy.kernel.machine.processes import boot_id, process, processes
from heronpy.kernel.machine.sessions import Session
from heronpy.kernel.plugin import Launch
from heronpy.plugins.scheduler.local.record import ContainerRecord, Records

#: not HERONPY_…, which would be a setting to a heronpy command that the user's code runs
TOKEN = "_HERONPY_CONTAINER_TOKEN"


class LocalContainer:
    """A running container, started by this or by an earlier scheduler process."""

    def __init__(self, record: ContainerRecord) -> None:
        self.record = record
        #: becomes readable when the first process ends
        self.pidfd = os.pidfd_open(record.pid)

    def terminate(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGTERM)

    @property
    def stopped(self) -> bool:
        """Whether its first process is."""
        seen = process(self.record.pid)
        return seen is not None and seen.stopped

    def finish(self) -> int | None:
        """Kill what is left of the group, wait until it is gone, and return how the first process ended."""
        kill_group(self.record)
        status = self._reap()
        os.close(self.pidfd)
        return status

    def release(self) -> None:
        """Close the pidfd; the container runs on."""
        os.close(self.pidfd)

    def _reap(self) -> int | None:
        try:
            result = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)
        except ChildProcessError:
            return None
        assert result is not None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status


def start(launch: Launch, records: Records) -> LocalContainer:
    """Start a container in a session of its own, so that it outlives this process."""
    record = ContainerRecord(launch.container, secrets.token_hex(8), boot_id())
    records.write(record)
    folder = Path(launch.log_folder)
    make_private(folder)
    log = os.open(folder / f"container-{launch.container}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        started = subprocess.Popen(
            launch.argv,
            env={**os.environ, **launch.environment, TOKEN: record.token},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    # it is waited for through its pidfd; this keeps Popen from doing so
    started.returncode = 0
    seen = process(started.pid)
    assert seen is not None, "a child stays until it is waited for"
    record = ContainerRecord(record.container, record.token, record.boot, seen.pid, seen.started)
    records.write(record)
    return LocalContainer(record)


def find(record: ContainerRecord) -> LocalContainer | None:
    """The container that an earlier process wrote down, if it still runs."""
    if record.boot != boot_id():
        return None
    if not record.pid:
        return _find_by_token(record)
    if not _is_first_process(record):
        return None
    try:
        container = LocalContainer(record)
    except ProcessLookupError:
        return None
    # the pid could have been reused between the check and the open
    if _is_first_process(record):
        return container
    container.release()
    return None


def kill_group(record: ContainerRecord) -> None:
    """SIGKILL to all of the container's processes; returns when none is left."""
    Session(record.pid, record.started, record.boot).kill(f"container {record.container}")


def _is_first_process(record: ContainerRecord) -> bool:
    seen = process(record.pid)
    return seen is not None and seen.alive and seen.started == record.started


def _find_by_token(record: ContainerRecord) -> LocalContainer | None:
    mark = f"{TOKEN}={record.token}".encode()
    for each in processes():
        with contextlib.suppress(OSError):
            if each.pid == each.session and mark in Path(f"/proc/{each.pid}/environ").read_bytes().split(
                b"\0"
            ):
                found = ContainerRecord(record.container, record.token, record.boot, each.pid, each.started)
                return find(found)
    return None
