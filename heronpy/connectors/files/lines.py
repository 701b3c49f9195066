"""A source of the lines of text files; its position is a number of bytes."""

from __future__ import annotations

import codecs
import itertools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heronpy.connectors.files.found import Paths, absolute_paths, find_files
from heronpy.connectors.files.places import OPEN_FILES, at_line, open_at
from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError


@dataclass(frozen=True, init=False)
class LineSource(Source[str]):
    """Lines without their ends; a split is a file.

    With `follow`, the source is unbounded: lines that are appended later are read too, each when its end has
    been written. The encoding must write a line end as the one byte that ASCII has for it, as UTF-8 does.
    """

    name = "lines"
    paths: tuple[str, ...]
    encoding: str
    follow: bool

    def __init__(self, paths: Paths, *, encoding: str = "utf-8", follow: bool = False) -> None:
        object.__setattr__(self, "paths", absolute_paths(paths))
        object.__setattr__(self, "encoding", checked_encoding(encoding))
        object.__setattr__(self, "follow", follow)
        object.__setattr__(self, "bounded", not follow)

    def check(self) -> None:
        find_files(self.paths)

    def splits(self) -> Sequence[str]:
        return find_files(self.paths)

    def open(self) -> LineReader:
        return LineReader(self)


class LineReader(TurnReader[str]):
    """Reads files line by line."""

    def __init__(self, source: LineSource) -> None:
        super().__init__(sys.maxsize if source.follow else OPEN_FILES)
        self._source = source

    def open_split(self, split: str, position: Any) -> SplitReader[str]:
        return _Lines(split, position or 0, self._source)


class _Lines(SplitReader[str]):
    def __init__(self, path: str, position: int, source: LineSource) -> None:
        self._path, self._position, self._source = path, position, source
        self._file = open_at(path, position)

    def read(self, most: int) -> Chunk[str] | None:
        lines = list(itertools.islice(self._file, most))
        if self._source.follow and lines and lines[-1][-1:] != b"\n":
            self._file.seek(-len(lines.pop()), os.SEEK_CUR)  # its end is still to come
        over = len(lines) < most
        if self._source.follow and not lines:
            return None
        data = b"".join(lines)
        records = self._decoded(data if self._position else data.removeprefix(codecs.BOM_UTF8))
        self._position += len(data)
        return Chunk(
            self._path, records, self._position, caught_up=over, ended=over and not self._source.follow
        )

    def _decoded(self, data: bytes) -> list[str]:
        try:
            text = data.decode(self._source.encoding)
        except UnicodeDecodeError as error:
            where = at_line(self._path, self._position + data.rfind(b"\n", 0, error.start) + 1)
            msg = f"{where} is not {self._source.encoding}: {error.reason}"
            raise UserError(
                msg, hint="give the encoding of the file, for example encoding='latin-1'"
            ) from error
        if not text:
            return []
        lines = text.removesuffix("\n").split("\n")
        return [line.removesuffix("\r") for line in lines] if "\r" in text else lines

    def close(self) -> None:
        self._file.close()


def checked_encoding(encoding: str) -> str:
    try:
        plain = "\r\n".encode(encoding) == b"\r\n"
    except LookupError:
        plain = False
    if not plain:
        msg = f"files cannot be read line by line with the encoding {encoding!r}"
        raise DefinitionError(msg, hint="encoding='utf-8', or write the files anew with: iconv -t utf-8")
    return encoding
