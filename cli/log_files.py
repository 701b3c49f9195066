"""Reading the log files of a topology: which ones, their last lines, and what is added to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from heronpy.kernel.errors import UserError, did_you_mean

#: a log is read backwards in pieces of this size until enough lines are seen
PIECE = 64 * 1024


def log_names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.log"))


def chosen_logs(folder: Path, who: str) -> list[Path]:
    """The logs of a component (count), an instance (count[1]), a process (stream-manager), or all ("")."""
    found = log_names(folder)
    chosen = [name for name in found if not who or name == who or _group_of(name) == who]
    if who and not chosen:
        msg = f"no log of {who!r} in {folder}{did_you_mean(who, {*found, *map(_group_of, found)})}"
        raise UserError(msg)
    return [folder / f"{name}.log" for name in chosen]


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a file, without reading all of it."""
    if lines <= 0:
        return []
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        data = b""
        # one newline more than lines, since the last line usually ends with one
        while position > 0 and data.count(b"\n") <= lines:
            step = min(PIECE, position)
            position -= step
            file.seek(position)
            data = file.read(step) + data
    return data.decode(errors="replace").splitlines()[-lines:]


class Follower:
    """What is appended to one file from now on, in whole lines."""

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self.path = path
        self._position = 0 if from_start else path.stat().st_size
        self._partial = b""

    def new_lines(self) -> Iterator[str]:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size < self._position:
            # emptied, or a new file of the same name
            self._position, self._partial = 0, b""
        if size == self._position:
            return
        with self.path.open("rb") as file:
            file.seek(self._position)
            data = file.read(size - self._position)
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
