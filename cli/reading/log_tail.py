"""Reading the logs of a topology: which ones, their last lines, and what is added to them."""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from typing_extensions import override

from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.kernel.logs.log_rotation import POISON, log_extents, read_log
from heronpy.kernel.logs.log_server import MOST

#: a log is read backwards in pieces of this size until enough lines are seen
PIECE = 64 * 1024


#: what processes are also called → the log that they write to
OTHER_NAMES = {
    "master": "topology-master",
    "executor": "container",
    "zygote": "container",
    "keeper": "scheduler",
}


class Logs(abc.ABC):
    """All logs of one topology, in a folder or elsewhere."""

    @abc.abstractmethod
    def extents(self) -> dict[str, range]:
        """Of each by name: the positions that can be read now. Older ones are gone."""

    @abc.abstractmethod
    def read(self, name: str, offset: int, most: int) -> bytes:
        """So many bytes from that position; fewer, or none, at the end of the log or where some are gone."""

    @abc.abstractmethod
    def grow(self) -> bool:
        """Whether there can be more later."""


class LogFolder(Logs):
    """Logs that lie on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @override
    def extents(self) -> dict[str, range]:
        return log_extents(self._folder)

    @override
    def read(self, name: str, offset: int, most: int) -> bytes:
        return read_log(self._folder, name, offset, most)

    @override
    def grow(self) -> bool:
        return self._folder.is_dir()


def chosen_logs(names: Iterable[str], who: str) -> list[str]:
    """The logs of a component (count), an instance (count[1]), a process (stream-manager), or all ("")."""
    known = sorted(names)
    if not who:
        return known
    # a component may have the name of an engine process, and takes precedence
    return _named(known, who) or _named(known, _log_of(who))


def _named(names: list[str], who: str) -> list[str]:
    return [name for name in names if who in (name, *_also_called(name.removesuffix(POISON)))]


def _also_called(name: str) -> tuple[str, str]:
    return name, _group_of(name)


def _log_of(process: str) -> str:
    """The log of a process, by its name in `status` or `ps`, or a common one: executor-1, master."""
    name, _, number = process.replace("_", "-").rstrip("-").rpartition("-")
    if not number.isdigit():
        name, number = f"{name}-{number}" if name else number, ""
    log = OTHER_NAMES.get(name, name)
    return f"{log}-{number}" if number else log


def require_logs(names: Iterable[str], who: str) -> list[str]:
    """Those that were chosen; it is an error if there is none."""
    known = list(names)
    chosen = chosen_logs(known, who)
    if who and not chosen:
        msg = f"no log of {who!r}{did_you_mean(who, {*known, *map(_group_of, known), *OTHER_NAMES})}"
        raise UserError(msg)
    return chosen


def tail(logs: Logs, name: str, extent: range, lines: int) -> list[str]:
    """The last lines of a log with these positions, without reading all of it."""
    if lines <= 0:
        return []
    position, data = extent.stop, b""
    # one newline more than lines, since the last line usually ends with one
    while position > extent.start and data.count(b"\n") <= lines:
        step = min(PIECE, position - extent.start)
        position -= step
        piece = logs.read(name, position, step)
        data = piece + data
        if len(piece) < step:
            break  # emptied, or out of reach: the part that was read is enough
    return data.decode(errors="replace").splitlines()[-lines:]


#: the line in place of bytes that were gone before they were read
GAP = re.compile(r"… \d+ bytes are gone \(log\.max_bytes, log\.files\)")


class LogFollower:
    """What is appended to one log behind a position, in whole lines."""

    def __init__(self, logs: Logs, name: str, position: int = 0) -> None:
        self._logs = logs
        self.name = name
        self._position = position
        self._partial = b""
        self._ended_before = False

    def new_lines(self, extent: range) -> Iterator[str]:
        """All lines up to the end; a gap is reported where the log was rotated before it was read."""
        if extent.stop < self._position:
            if not self._ended_before:
                # briefly so during a rotation; at the next read it is another log
                self._ended_before = True
                return
            self._position, self._partial = extent.start, b""
        self._ended_before = False
        if self._position < extent.start:
            yield f"… {extent.start - self._position} bytes are gone (log.max_bytes, log.files)"
            self._position, self._partial = extent.start, b""
        while self._position < extent.stop:
            data = self._logs.read(self.name, self._position, min(MOST, extent.stop - self._position))
            if not data:
                return
            self._position += len(data)
            *whole, self._partial = (self._partial + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")


def _group_of(name: str) -> str:
    """count[1] → count; stream-manager-2 → stream-manager."""
    if name.endswith("]"):
        return name.rpartition("[")[0]
    group, _, number = name.rpartition("-")
    return group if number.isdigit() and group else name
