"""Logs that do not outgrow the disk: how a process writes its own, and how the parts of one are read.

`count[1].log` is what is written to now. When it is full, it is copied to `count[1].log.N` and emptied, where
N is the position of its first byte in all that the log has ever held. So a position means the same before and
after, and a process that was started by the user's code and writes to the same file is capped as well.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from typing_extensions import override

from heronpy.kernel.machine.private import private

SUFFIX: Final = ".log"
#: a task's tuples that were kept aside are in a log of its own: `count[1].poison.log`
POISON: Final = ".poison"

#: bytes that a process writes between two looks at the size of its log, and at the room on the disk
LOOK_BYTES: Final = 64 * 1024
#: bytes that are left of a log when the disk is nearly full
LEFT_BYTES: Final = 64 * 1024
#: a disk with less room than this, or than a twentieth of it, is nearly full
SPARE_BYTES: Final = 64 * 1024**2
SPARE_SHARE: Final = 20

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Caps(NamedTuple):
    """How large a log may become."""

    #: bytes of one file
    most: int
    #: files, with the one that is written to
    files: int


class Part(NamedTuple):
    """One file of a log, and the position of its first byte."""

    path: Path
    first: int
    size: int


class CappedOutput(io.RawIOBase):
    """Writes to the log behind a descriptor; what finds no room is left out, never an error of the writer."""

    def __init__(self, descriptor: int, path: Path, caps: Caps) -> None:
        self._descriptor = descriptor
        self._path = path
        self._caps = caps
        self._until_look = 0
        self._left_out = 0

    @override
    def writable(self) -> bool:
        return True

    @override
    def fileno(self) -> int:
        return self._descriptor

    @override
    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), LOOK_BYTES):
            self._write_piece(view[start : start + LOOK_BYTES])
        return len(view)

    def _write_piece(self, piece: memoryview) -> None:
        self._until_look -= len(piece)
        if self._until_look < 0:
            self._until_look = min(LOOK_BYTES, self._caps.most // 4)
            cap_log(self._path, self._caps)
        if self._left_out:
            note = f"\n… {self._left_out} bytes are left out: there was no room on the disk\n"
            piece = memoryview(note.encode() + piece)
        rest = self._append(piece)
        if rest and shrink_log(self._path):
            rest = self._append(rest)
        self._left_out = self._left_out + len(rest) if rest else 0

    def _append(self, piece: memoryview) -> memoryview:
        """What of it finds no room."""
        while piece:
            try:
                piece = piece[os.write(self._descriptor, piece) :]
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                break
        return piece


def cap_output(folder: Path, caps: Caps) -> None:
    """Cap what this process writes, if its output goes to a log in this folder."""
    path = Path(os.readlink("/proc/self/fd/2"))
    if path.suffix == SUFFIX and path.parent == folder.resolve():
        sys.stdout, sys.stderr = (line_writer(CappedOutput(each, path, caps)) for each in (1, 2))


def line_writer(raw: io.RawIOBase) -> io.TextIOWrapper:
    """What is printed must be in the log at once, whatever characters it holds."""
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def cap_logs(folder: Path, caps: Caps) -> None:
    """Cap every log of a folder: for what is written past Python, by the user's own processes."""
    with contextlib.suppress(OSError):
        for path in list(folder.glob(f"*{SUFFIX}")):
            cap_log(path, caps)


def cap_log(path: Path, caps: Caps) -> None:
    """Begin a new file if this one is full; leave only the end of it if the disk nearly is."""
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        if size >= caps.most and not _nearly_full(path, size):
            _rotate(path, caps)
        elif size >= caps.most or _nearly_full(path):
            shrink_log(path)


def shrink_log(path: Path) -> bool:
    """Leave only the end of a log; False when there is no more than that, or another process is about it."""
    with contextlib.suppress(OSError), _held(path) as file:
        parts = log_parts(path)
        if file is None or sum(part.size for part in parts) <= 2 * LEFT_BYTES:
            return False
        last = parts[-1]
        file.seek(max(0, last.size - LEFT_BYTES))
        end = file.read()
        end = end[end.find(b"\n") + 1 :]
        for part in parts[:-1]:
            part.path.unlink(missing_ok=True)
        os.truncate(file.fileno(), 0)
        _mark(path, last.first + last.size - len(end))
        with open(path, "ab", opener=private) as log:
            log.write(end)
        return True
    return False


def _rotate(path: Path, caps: Caps) -> None:
    with _held(path) as file:
        size = os.fstat(file.fileno()).st_size if file is not None else 0
        if file is None or size < caps.most:
            return  # another process has done it
        *older, current = log_parts(path)
        # of what was written past the cap only the end is kept, and nothing before it
        skipped = size - caps.most if size > 2 * caps.most else 0
        for part in older if skipped else older[: max(0, len(older) - caps.files + 2)]:
            part.path.unlink(missing_ok=True)
        if caps.files == 1:
            os.truncate(file.fileno(), 0)
            _mark(path, current.first + size)
            return
        draft = path.with_name(f"{path.name}.new")
        file.seek(skipped)
        with open(draft, "wb", opener=private) as copy:
            shutil.copyfileobj(file, copy, LOOK_BYTES)
        os.truncate(file.fileno(), 0)
        draft.rename(_part_path(path, current.first + skipped))


@contextlib.contextmanager
def _held(path: Path) -> Iterator[io.BufferedRandom | None]:
    """The log, while no other process changes its files; None when one does."""
    with path.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file


def _nearly_full(path: Path, more: int = 0) -> bool:
    """Whether its disk is, or would be with so many bytes more."""
    disk = os.statvfs(path)
    spare = min(SPARE_BYTES, disk.f_blocks * disk.f_frsize // SPARE_SHARE)
    return disk.f_bavail * disk.f_frsize < spare + more


def _mark(path: Path, first: int) -> None:
    """Nothing is left of what was before this position."""
    for part in log_parts(path)[:-1]:
        part.path.unlink(missing_ok=True)
    _part_path(path, first).touch(mode=0o600)


def _part_path(path: Path, first: int) -> Path:
    return path.with_name(f"{path.name}.{first}")


def log_parts(path: Path) -> list[Part]:
    """The files of a log, oldest first; the last is the one that is written to."""
    return _with_current(path, _older_parts(path.parent).get(path.name, []))


def _with_current(path: Path, older: list[Part]) -> list[Part]:
    first = older[-1].first + older[-1].size if older else 0
    return [*older, Part(path, first, path.stat().st_size)]


def _older_parts(folder: Path) -> dict[str, list[Part]]:
    """Those that are not written to any more, by the name of the file that is."""
    found: dict[str, list[Part]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name, _, number = entry.name.rpartition(".")
            if name.endswith(SUFFIX) and number.isdigit():
                with contextlib.suppress(FileNotFoundError):
                    part = Part(folder / entry.name, int(number), entry.stat().st_size)
                    found.setdefault(name, []).append(part)
    return {name: sorted(parts, key=lambda part: part.first) for name, parts in found.items()}


def log_extents(folder: Path) -> dict[str, range]:
    """Of every log in the folder, by its name without the suffix: the positions that can be read."""
    found = {}
    try:
        older = _older_parts(folder)
        for path in sorted(folder.iterdir()):
            if path.suffix == SUFFIX and path.is_file() and not path.is_symlink():
                parts = _with_current(path, older.get(path.name, []))
                found[path.stem] = range(parts[0].first, parts[-1].first + parts[-1].size)
    except OSError:  # the folder, or a log, has just been removed
        return {}
    return found


def read_log(folder: Path, name: str, offset: int, most: int) -> bytes:
    """So many bytes from this position on; none of what is gone."""
    path, data = folder / f"{name}{SUFFIX}", b""
    try:
        while True:
            parts = log_parts(path)
            data = b"".join(_read_part(part, offset, most) for part in parts)
            if [part.first for part in log_parts(path)] == [part.first for part in parts]:
                return data
    except OSError:
        return b""


def _read_part(part: Part, offset: int, most: int) -> bytes:
    begin, end = max(offset, part.first), min(offset + most, part.first + part.size)
    if begin >= end:
        return b""
    with part.path.open("rb") as file:
        file.seek(begin - part.first)
        return file.read(end - begin)
