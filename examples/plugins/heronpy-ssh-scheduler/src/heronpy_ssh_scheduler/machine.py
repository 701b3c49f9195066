"""Another machine: running a command there, and putting files there."""

from __future__ import annotations

import shlex
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from heronpy import Shipped, UserError


class Machine:
    """Reached with a command such as ssh, which is given the machine's name and a line for its shell."""

    def __init__(self, name: str, ssh: Sequence[str]) -> None:
        self.name = name
        self._ssh = ssh

    def run(self, line: str) -> None:
        """Wait for the end of a command; UserError if it failed."""
        done = subprocess.run(
            [*self._ssh, self.name, line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self._check(done.returncode, done.stderr)

    def copy(self, files: Iterable[Shipped], folder: str) -> None:
        """Put files into a folder there, readable for its owner alone: some of them may be secrets."""
        line = f"mkdir -p {shlex.quote(folder)} && tar -xf - -C {shlex.quote(folder)}"
        with self.start(line, subprocess.PIPE) as process:
            assert process.stdin is not None
            with tarfile.open(fileobj=process.stdin, mode="w|") as archive:
                for shipped in files:
                    entry = tarfile.TarInfo(shipped.name)
                    entry.size, entry.mode = shipped.bytes, 0o600
                    with open(shipped.path, "rb") as file:
                        archive.addfile(entry, file)
            _, complaint = process.communicate()
        self._check(process.returncode, complaint.decode(errors="replace"))

    def start(self, line: str, output: BinaryIO | int) -> subprocess.Popen[bytes]:
        """Begin a command; its standard input is a pipe that closes when we end, however we end."""
        return subprocess.Popen(
            [*self._ssh, self.name, line],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def _check(self, status: int, complaint: str) -> None:
        if status:
            reason = (complaint.strip().splitlines() or [f"exit {status}"])[-1]
            msg = f"machine {self.name!r} refused a command: {reason}"
            raise UserError(msg, hint=f"{shlex.join([*self._ssh, self.name])} true")
