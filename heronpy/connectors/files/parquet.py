"""A source of the rows of Parquet files; its position is a row group and a row in it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import msgspec

from heronpy.connectors.files.found import Paths, absolute_paths, find_files
from heronpy.connectors.files.places import OPEN_FILES
from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.kernel.errors import UserError, did_you_mean

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, init=False)
class ParquetSource(Source[T_co]):
    """Rows as dicts, or as the class that `type` names; a split is a file. Needs heron-py[parquet].

    `columns` reads these alone. The class may be a dataclass, TypedDict or msgspec Struct.
    """

    name = "parquet"
    paths: tuple[str, ...]
    type: Any
    columns: tuple[str, ...]

    @overload
    def __init__(
        self: ParquetSource[dict[str, Any]], paths: Paths, *, columns: Sequence[str] = ...
    ) -> None: ...
    @overload
    def __init__(self, paths: Paths, *, type: builtins.type[T_co], columns: Sequence[str] = ...) -> None: ...
    def __init__(self, paths: Paths, *, type: Any = dict, columns: Sequence[str] = ()) -> None:
        object.__setattr__(self, "paths", absolute_paths(paths))
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "columns", tuple(columns))

    def check(self) -> None:
        for path in find_files(self.paths):
            _RowGroups(path, [0, 0], self).close()

    def splits(self) -> Sequence[str]:
        return find_files(self.paths)

    def open(self) -> ParquetReader[T_co]:
        return ParquetReader(self)


class ParquetReader(TurnReader[T_co]):
    """Holds one row group of each open file."""

    def __init__(self, source: ParquetSource[T_co]) -> None:
        super().__init__(OPEN_FILES)
        self._source = source

    def open_split(self, split: str, position: Any) -> SplitReader[T_co]:
        return _RowGroups(split, position or [0, 0], self._source)


class _RowGroups(SplitReader[T], Generic[T]):
    def __init__(self, path: str, position: list[int], source: ParquetSource[T]) -> None:
        self._path, self._source = path, source
        self._group, self._row = position
        self._file = _opened(path)
        #: the row group that is being read
        self._table: Any = None
        known = self._file.schema_arrow.names
        for column in source.columns:
            if column not in known:
                self.close()
                msg = f"{path} has no column {column!r}{did_you_mean(column, known)}"
                raise UserError(msg, hint=f"columns={known}")

    def read(self, most: int) -> Chunk[T]:
        """From one row group."""
        rows: list[dict[str, Any]] = []
        groups = self._file.num_row_groups
        while not rows and self._group < groups:
            if self._table is None:
                self._table = self._file.read_row_group(self._group, columns=self._source.columns or None)
            rows = self._table.slice(self._row, most).to_pylist()
            self._row += len(rows)
            if self._row >= self._table.num_rows:
                self._group, self._row, self._table = self._group + 1, 0, None
        over = self._group >= groups
        position = [self._group, self._row]
        return Chunk(self._path, self._converted(rows), position, caught_up=over, ended=over)

    def close(self) -> None:
        self._table = None
        self._file.close()

    def _converted(self, rows: list[dict[str, Any]]) -> list[T]:
        wanted: Any = self._source.type
        if wanted is dict:
            return rows  # type: ignore[return-value]  # T is dict[str, Any]
        try:
            return msgspec.convert(rows, list[wanted])
        except msgspec.ValidationError as error:
            msg = f"a row of {self._path} does not fit: {error}"
            raise UserError(msg, hint="correct the class, or read dicts and map them") from error


def _opened(path: str) -> Any:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        msg = "Parquet files need pyarrow, which is not installed"
        raise UserError(msg, hint="pip install 'heron-py[parquet]'") from None
    try:
        return ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        msg = f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}"
        raise UserError(
            msg, hint="is it another format? csv(), json_lines() and lines() read text"
        ) from error
