"""A source of the rows of CSV files; its position is a number of bytes."""

from __future__ import annotations

import builtins
import codecs
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import msgspec

from heronpy.connectors.files.found import Paths, absolute_paths, find_files
from heronpy.connectors.files.lines import checked_encoding
from heronpy.connectors.files.places import OPEN_FILES, at_line, open_at
from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, init=False)
class CsvSource(Source[T_co]):
    """Rows as dicts of strings, or as the class that `type` names, converted; a split is a file.

    The first row of each file has the names of the columns, unless `columns` has them. The class may be a
    dataclass, TypedDict or msgspec Struct: "12" becomes 12 where it says `int`. A quoted value
    may have line ends. Empty lines are passed over.
    """

    name = "csv"
    paths: tuple[str, ...]
    type: Any
    columns: tuple[str, ...]
    delimiter: str
    encoding: str

    @overload
    def __init__(
        self: CsvSource[dict[str, str]],
        paths: Paths,
        *,
        columns: Sequence[str] = ...,
        delimiter: str = ...,
        encoding: str = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        paths: Paths,
        *,
        type: builtins.type[T_co],
        columns: Sequence[str] = ...,
        delimiter: str = ...,
        encoding: str = ...,
    ) -> None: ...
    def __init__(
        self,
        paths: Paths,
        *,
        type: Any = dict,
        columns: Sequence[str] = (),
        delimiter: str = ",",
        encoding: str = "utf-8",
    ) -> None:
        if len(delimiter) != 1 or delimiter in '"\r\n':
            msg = f"the delimiter of CSV must be one character and no quote or line end, got {delimiter!r}"
            raise DefinitionError(msg, hint="delimiter=';'")
        object.__setattr__(self, "paths", absolute_paths(paths))
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "delimiter", delimiter)
        object.__setattr__(self, "encoding", checked_encoding(encoding))

    def check(self) -> None:
        for path in find_files(self.paths):
            _Rows(path, 0, self).close()

    def splits(self) -> Sequence[str]:
        return find_files(self.paths)

    def open(self) -> CsvReader[T_co]:
        return CsvReader(self)


class CsvReader(TurnReader[T_co]):
    """Reads files row by row."""

    def __init__(self, source: CsvSource[T_co]) -> None:
        super().__init__(OPEN_FILES)
        self._source = source

    def open_split(self, split: str, position: Any) -> SplitReader[T_co]:
        return _Rows(split, position or 0, self._source)


class _Rows(SplitReader[T], Generic[T]):
    """The parser asks for a line at a time, so the position behind a row is known exactly."""

    def __init__(self, path: str, position: int, source: CsvSource[T]) -> None:
        self._path, self._source = path, source
        self._open(0)
        try:
            self._columns = source.columns or self._header()
            if position > self._position:
                self._file.close()
                self._open(position)
        except BaseException:
            self.close()
            raise

    def read(self, most: int) -> Chunk[T]:
        rows: list[dict[str, str]] = []
        begins: list[int] = []
        row: list[str] | None = []
        while row is not None and len(rows) < most:
            begins.append(self._position)
            row = self._next()
            if row is not None:
                if len(row) != len(self._columns):
                    wanted = f"{len(self._columns)} values, as many as there are columns"
                    raise self._bad(begins[-1], f"has {len(row)} values and not {wanted}")
                rows.append(dict(zip(self._columns, row, strict=True)))
        over = row is None
        records = self._converted(rows, begins)
        return Chunk(self._path, records, self._position, caught_up=over, ended=over)

    def close(self) -> None:
        self._file.close()

    def _open(self, position: int) -> None:
        self._file = open_at(self._path, position)
        self._position = position
        self._parser = csv.reader(self._lines(), delimiter=self._source.delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        for line in self._file:
            text = line if self._position else line.removeprefix(codecs.BOM_UTF8)
            self._position += len(line)
            yield text.decode(self._source.encoding)

    def _next(self) -> list[str] | None:
        """The next row that is not empty; None at the end."""
        begin = self._position
        try:
            for row in self._parser:
                if row:
                    return row
                begin = self._position
        except csv.Error as error:
            raise self._bad(begin, f"is no CSV: {error}") from error
        except UnicodeDecodeError as error:
            what = f"is not {self._source.encoding}: {error.reason}"
            raise self._bad(begin, what, hint="encoding='latin-1'") from error
        return None

    def _header(self) -> tuple[str, ...]:
        names = tuple(self._next() or ())
        if len(set(names)) < len(names):
            twin = next(name for name in names if names.count(name) > 1)
            raise self._bad(0, f"names the column {twin!r} twice", hint="columns=[…], if it is no header")
        return names

    def _converted(self, rows: list[dict[str, str]], begins: list[int]) -> list[T]:
        wanted: Any = self._source.type
        if wanted is dict:
            return rows  # type: ignore[return-value]  # T is dict[str, str]
        try:
            return msgspec.convert(rows, list[wanted], strict=False)
        except msgspec.ValidationError:
            for row, begin in zip(rows, begins, strict=False):
                try:
                    msgspec.convert(row, wanted, strict=False)
                except msgspec.ValidationError as error:
                    raise self._bad(begin, f"does not fit: {error}") from None
            raise

    def _bad(self, begin: int, what: str, hint: str = "") -> UserError:
        return UserError(
            f"{at_line(self._path, begin)} {what}", hint=hint or "correct the line, or set delimiter, columns"
        )
