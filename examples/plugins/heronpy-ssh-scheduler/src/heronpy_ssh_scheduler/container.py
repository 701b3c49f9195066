"""A container on another machine, which lives as long as the connection through which it was started."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from heronpy import ContainerExit, Launch
from heronpy_ssh_scheduler.machine import Machine

#: ends all processes of the session whose first process wrote down its pid
KILL = "test ! -f {0}/pid || pkill -KILL -s $(cat {0}/pid) || true"

#: … and, when none was found any more, removes the folder
CLEAR = (
    "for turn in 1 2 3 4 5 6 7 8 9 10; do"
    " test -f {0}/pid && pkill -KILL -s $(cat {0}/pid) || break; sleep 0.1;"
    " done; rm -rf {0}"
)


class SshContainer:
    """What is shipped is copied to a folder of its own there, and the container started in it."""

    def __init__(self, launch: Launch, machine: Machine, folder: str, python: str) -> None:
        self.id = launch.container
        self._machine = machine
        self._folder = shlex.quote(folder)
        if launch.shipped:
            machine.copy(launch.shipped, folder)
        argv = (launch.argv[0] or python, *launch.argv[1:], "--lifeline")
        command = shlex.join(["env", *(f"{key}={value}" for key, value in launch.environment.items()), *argv])
        line = f"mkdir -p {self._folder} && cd {self._folder} && echo $$ > pid && exec {command}"
        self._log = Path(launch.log_folder) / f"ssh-{launch.container}.log"
        with self._log.open("ab") as log:
            self._process = machine.start(line, log)

    @property
    def pid(self) -> int:
        """Of the connection."""
        return self._process.pid

    def exit(self) -> ContainerExit | None:
        """How it ended, if it has."""
        status = self._process.poll()
        if status is None:
            return None
        lines = self._log.read_text(errors="replace").splitlines() if status > 0 else []
        return ContainerExit(self.id, status, lines[-1] if lines else "")

    def hang_up(self) -> None:
        """Close its lifeline: it ends, with all its processes, as soon as it can."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def clear(self, patience: float) -> None:
        """Wait for the end of it, and of all that it has left; after a while it is made to."""
        try:
            self._process.wait(max(0.0, patience))
        except subprocess.TimeoutExpired:
            self._machine.run(KILL.format(self._folder))
            self._process.kill()
            self._process.wait()
        self._machine.run(CLEAR.format(self._folder))
