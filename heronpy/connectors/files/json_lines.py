"""A source of files with one JSON value on each line; its position is a number of bytes."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import msgspec

from heronpy.connectors.files.found import Paths, absolute_paths, find_files
from heronpy.connectors.files.places import OPEN_FILES, at_line, open_at
from heronpy.connectors.source import Chunk, Source
from heronpy.connectors.turns import SplitReader, TurnReader
from heronpy.kernel.errors import UserError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, init=False)
class JsonLineSource(Source[T_co]):
    """JSON values as dicts, lists and so on, or as the class that `type` names; a split is a file.

    The class may be a dataclass, TypedDict or msgspec Struct; a NamedTuple is a JSON array. Empty lines are
    passed over.
    """

    name = "json_lines"
    paths: tuple[str, ...]
    type: Any

    @overload
    def __init__(self: JsonLineSource[Any], paths: Paths) -> None: ...
    @overload
    def __init__(self, paths: Paths, *, type: builtins.type[T_co]) -> None: ...
    def __init__(self, paths: Paths, *, type: Any = Any) -> None:
        object.__setattr__(self, "paths", absolute_paths(paths))
        object.__setattr__(self, "type", type)

    def check(self) -> None:
        find_files(self.paths)

    def splits(self) -> Sequence[str]:
        return find_files(self.paths)

    def open(self) -> JsonLineReader[T_co]:
        return JsonLineReader(self)


class JsonLineReader(TurnReader[T_co]):
    """Decodes files chunk by chunk."""

    def __init__(self, source: JsonLineSource[T_co]) -> None:
        super().__init__(OPEN_FILES)
        self._decoder: msgspec.json.Decoder[T_co] = msgspec.json.Decoder(source.type)

    def open_split(self, split: str, position: Any) -> SplitReader[T_co]:
        return _Values(split, position or 0, self._decoder)


class _Values(SplitReader[T], Generic[T]):
    def __init__(self, path: str, position: int, decoder: msgspec.json.Decoder[T]) -> None:
        self._path, self._position, self._decoder = path, position, decoder
        self._file = open_at(path, position)

    def read(self, most: int) -> Chunk[T]:
        lines = list(itertools.islice(self._file, most))
        records: list[T] = []
        begin = self._position
        try:
            for line in lines:
                if not line.isspace():
                    records.append(self._decoder.decode(line))
                begin += len(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._bad(begin, error) from None
        self._position = begin
        over = len(lines) < most
        return Chunk(self._path, records, self._position, caught_up=over, ended=over)

    def _bad(self, begin: int, error: Exception) -> UserError:
        wrong = isinstance(error, msgspec.ValidationError)
        what = "does not fit" if wrong else "is no JSON"
        hint = "correct the line or the class" if wrong else "correct the line, or read the file with lines()"
        return UserError(f"{at_line(self._path, begin)} {what}: {error}", hint=hint)

    def close(self) -> None:
        self._file.close()
