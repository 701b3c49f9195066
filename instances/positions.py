"""How far a task was on each channel, in small mapped files that outlive its process.

Only the task itself knows what it has sent and consumed. After its death the successor reads that from here,
and reports it to every receiver with its first PROBE and to every emitter with its hello, so that a loss is
counted exactly and not only bounded by the credit that was in use.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from heronpy.kernel.flow.credit import HELLO, Grant, LastWord
from heronpy.kernel.machine.private import make_private, private

#: files of so many incarnations are kept: one that dies before it has reported leaves that to the next
KEPT = 4

#: 64-bit numbers of an entry: the other task + 1, and two that are noted of it
_ENTRY = 3

#: life → the other task → the two numbers
_Lives = Mapping[int, Mapping[int, tuple[int, int]]]


class _Table:
    """Two numbers for each of some tasks, in a new file; without one, nothing is noted."""

    def __init__(self, path: Path | None = None, tasks: int = 0) -> None:
        self._entries = _mapped(path, tasks) if path is not None else None
        self._at: dict[int, int] = {}

    def note(self, task: int, first: int, second: int) -> None:
        entries = self._entries
        if entries is None:
            return
        at = self._at.get(task)
        if at is None:
            at = len(self._at) * _ENTRY
            if at >= len(entries):
                return  # a later plan has many more tasks: a loss there has a wider bound
            self._at[task] = at
            entries[at] = task + 1
        entries[at + 1] = first
        entries[at + 2] = second


class Sent:
    """The emitter's side: the position behind all that was sent, and what open batches may hold."""

    def __init__(self, table: _Table | None = None, earlier: _Lives | None = None) -> None:
        self._table = table or _Table()
        self._earlier = earlier or {}
        #: (receiver, sent, open), before it is sent
        self.note = self._table.note

    @classmethod
    def begin(cls, folder: Path, task: int, incarnation: int, receivers: int) -> Sent:
        """Read what earlier lives have noted, and begin to note for this one."""
        return cls(*_begin(folder / "sent", task, incarnation, receivers))

    def last_words(self, receiver: int) -> Sequence[LastWord]:
        """How far each of the earlier lives was, oldest first."""
        return [LastWord(life, *told[receiver]) for life, told in self._earlier.items() if receiver in told]


class WorkedOff:
    """The receiver's side: an emitter's incarnation, and the position up to which all of it is done."""

    def __init__(self, table: _Table | None = None, earlier: _Lives | None = None) -> None:
        self._table = table or _Table()
        self._earlier = earlier or {}
        #: (emitter, its incarnation, consumed)
        self.note = self._table.note

    @classmethod
    def begin(cls, folder: Path, task: int, incarnation: int, emitters: int) -> WorkedOff:
        """Read what earlier lives have noted, and begin to note for this one."""
        return cls(*_begin(folder / "worked-off", task, incarnation, emitters))

    def hello(self, emitter: int) -> Grant:
        """The hello to an emitter: the position of the newest incarnation that received from it."""
        known = [told[emitter] for told in self._earlier.values() if emitter in told]
        return Grant(*known[-1], limit=0) if known else HELLO


def _begin(folder: Path, task: int, incarnation: int, others: int) -> tuple[_Table, _Lives]:
    files = sorted((life, path) for life, path in _files(folder, task) if life < incarnation)
    for _, path in files[:-KEPT]:
        with contextlib.suppress(OSError):
            path.unlink()
    lives = {life: dict(_entries(path)) for life, path in files[-KEPT:]}
    return _Table(folder / f"{task}-{incarnation}", others), lives


def _files(folder: Path, task: int) -> Iterator[tuple[int, Path]]:
    """Not by a pattern: the memory that compiling one changes would be no longer shared with the zygote."""
    names = os.listdir(folder) if folder.is_dir() else []
    for name in names:
        number, _, life = name.partition("-")
        if number == str(task) and life.isdigit():
            yield int(life), folder / name


def _mapped(path: Path, tasks: int) -> memoryview | None:
    """The new file in memory; None where the disk has no room: then a loss has a wider bound."""
    size = max(2 * tasks, 16) * _ENTRY * 8
    try:
        make_private(path.parent)
        with open(path, "wb", opener=private) as file:
            # a hole in a mapped file would end the process when the disk is full
            os.posix_fallocate(file.fileno(), 0, size)
        with open(path, "r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), size)).cast("Q")
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _entries(path: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    try:
        data = path.read_bytes()
    except OSError:
        return
    numbers = memoryview(data[: len(data) // 8 * 8]).cast("Q")
    for at in range(0, len(numbers) - _ENTRY + 1, _ENTRY):
        if numbers[at]:
            yield numbers[at] - 1, (numbers[at + 1], numbers[at + 2])
