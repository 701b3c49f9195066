"""A sink that writes lines into files, each of which appears as a whole when it is committed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from heronpy.connectors.sink import Sink, Writer
from heronpy.connectors.staged_files import MARK, StagedFiles, discard
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError, did_you_mean
from heronpy.kernel.formats import HANDLE
from heronpy.kernel.machine.durable import sync
from heronpy.kernel.machine.private import readable

#: what would end a field or a line
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_BUFFER = 1 << 18


@dataclass(frozen=True, init=False)
class FolderSink(Sink[Any]):
    """A line for each record, in files of a folder: a new file for each commit and task.

    Visible files are complete and never change; uncommitted ones are in the subfolder `.uncommitted`. All
    machines must see the same folder. As text, a record is `str(record)`, a tuple or list its values with
    tabs between them, with backslashes, tabs and line ends written as `\\\\`, `\\t`, `\\n` and `\\r`.
    """

    name = "files"
    mode = "transactional"
    folder: str
    format: Literal["text", "json"]
    suffix: str

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        format: Literal["text", "json"] = "text",
        suffix: str | None = None,
    ) -> None:
        """Files end in `suffix`: ".txt" or ".jsonl" unless it is given."""
        if format not in _LINES:
            msg = f"files cannot be written in the format {format!r}{did_you_mean(format, _LINES)}"
            raise DefinitionError(msg)
        ending = {"text": ".txt", "json": ".jsonl"}[format] if suffix is None else suffix
        object.__setattr__(self, "folder", os.path.abspath(folder))
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "suffix", ending)

    def check(self) -> None:
        if os.path.lexists(self.folder) and not os.path.isdir(self.folder):
            msg = f"{self.folder} is not a folder"
            raise UserError(msg, hint="name a folder; files are made in it")

    def open(self, owner: str) -> FileWriter:
        return FileWriter(Path(self.folder), owner, self.suffix, line=_LINES[self.format])


def text_line(record: object) -> str:
    """A record as a line of text, without its end."""
    return tabbed(record if isinstance(record, tuple | list) else (record,))


def tabbed(values: Iterable[object]) -> str:
    return "\t".join([str(value).translate(_ESCAPES) for value in values])


def json_line(record: object) -> str:
    """A record as JSON, without a line end; UserError if JSON has nothing for it."""
    try:
        return msgspec.json.encode(record).decode()
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"a record cannot be written as JSON: {error}"
        raise UserError(msg, hint="map it to a dict, dataclass or str before it is written") from error


_LINES: dict[str, Callable[[object], str]] = {"text": text_line, "json": json_line}


class _Handle(msgspec.Struct):
    staged: str
    target: str


def _decoded(handle: bytes) -> _Handle:
    return HANDLE.decode(handle, _Handle, "a transaction of files")


class FileWriter(Writer[Any]):
    """Writes the lines of one task into a file, made with the first line so that none is empty."""

    def __init__(
        self,
        folder: Path,
        owner: str,
        suffix: str,
        *,
        line: Callable[[Any], str],
        label: str = "",
        sink: str = FolderSink.__qualname__,
    ) -> None:
        """Visible files begin with `label`, or the owner; `sink` is named in errors."""
        self._folder, self._suffix, self._line = folder, suffix, line
        self._label = label or owner
        self._staged = StagedFiles(folder / ".uncommitted", owner, sink)
        self._file: IO[str] | None = None
        self._path = folder

    def write(self, records: Sequence[Any]) -> None:
        if not records:
            return
        lines = "".join([self._line(record) + "\n" for record in records])
        if self._file is None:
            self._path = self._staged.new()
            self._file = open(  # noqa: SIM115 - closed by prepare() or close()
                self._path, "x", _BUFFER, "utf-8", "backslashreplace", "\n", opener=readable
            )
        self._file.write(lines)

    def prepare(self, checkpoint: int) -> bytes:
        file, self._file = self._file, None
        if file is None:
            return b""
        file.close()
        self._staged.prepared(self._path)
        unique = self._path.name.rpartition(MARK)[2]
        target = self._folder / f"{self._label}-{checkpoint:06d}-{unique}{self._suffix}"
        return HANDLE.encode(_Handle(str(self._path), str(target)))

    def verify(self, handle: bytes) -> None:
        self._staged.verify(Path(_decoded(handle).staged))

    def commit(self, handle: bytes) -> None:
        found = _decoded(handle)
        staged, target = Path(found.staged), Path(found.target)
        try:
            staged.rename(target)
        except FileNotFoundError:
            # Committed before; the file may have been read and taken away since.
            if not target.exists():
                self._staged.check_missing(staged)
        if target.parent.exists():
            sync(target.parent)
        self._staged.committed(staged)

    def abort(self) -> None:
        self.close()
        self._staged.abort()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            discard(self._path)
