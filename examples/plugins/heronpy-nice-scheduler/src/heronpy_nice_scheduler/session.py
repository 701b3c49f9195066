"""One container: a process that leads a session, and all that it has started in it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from heronpy import Launch


class Session(NamedTuple):
    """The first process of a container. Pid, start time and boot together are never used again."""

    container: int
    pid: int
    started: int
    boot: str

    def save(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        draft = folder / f"{self.container}.new"
        draft.write_text(json.dumps(self._asdict()))
        draft.rename(folder / f"{self.container}.json")

    def forget(self, folder: Path) -> None:
        (folder / f"{self.container}.json").unlink(missing_ok=True)

    def leads(self) -> bool:
        """Whether the first process still runs, and is not another with the same pid."""
        seen = _look(self.pid)
        return seen is not None and (seen.started, self.boot) == (self.started, _boot()) and seen.state != "Z"

    def members(self) -> list[int]:
        """Everybody in the session, also after its first process has ended."""
        first = _look(self.pid)
        if self.boot != _boot() or (first is not None and first.started != self.started):
            return []
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        seen = {pid: _look(pid) for pid in pids}
        return [pid for pid, one in seen.items() if one and one.session == self.pid and one.state != "Z"]

    def terminate(self) -> None:
        """Ask the first process, which takes the others along."""
        if self.leads():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Return when nobody is left."""
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def status(self) -> int | None:
        """How the first process ended, as far as that can be known; also lets the system forget it."""
        try:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # an earlier scheduler process started it, or it was waited for before
            return None
        return os.waitstatus_to_exitcode(status) if ended else None


def start(launch: Launch, wrapper: Sequence[str]) -> Session:
    """Start a container in the background. The wrapper replaces itself by the container's own command."""
    log = str(Path(launch.log_folder) / f"container-{launch.container}.log")
    argv = [*wrapper, *launch.argv]
    pid = os.posix_spawnp(
        argv[0],
        argv,
        {**os.environ, **launch.environment},
        setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    seen = _look(pid)
    assert seen is not None, "a child stays until it is waited for"
    return Session(launch.container, pid, seen.started, _boot())


def saved(folder: Path) -> Iterator[Session]:
    """What this or an earlier scheduler process has started and not yet forgotten."""
    for file in sorted(folder.glob("*.json")):
        yield Session(**json.loads(file.read_text()))


class _Process(NamedTuple):
    state: str
    session: int
    started: int


def _look(pid: int) -> _Process | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return _Process(fields[0], int(fields[3]), int(fields[19]))


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
