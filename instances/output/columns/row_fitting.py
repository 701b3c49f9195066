"""Rows on a stream with a Schema: each value as its column gives it back, or an error.

So equal keys are equal whether they are emitted in rows or in columns, and all readers see the same values.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
import uuid
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heronpy.column_schema import arrow_schema
from heronpy.instances.excerpts import shown
from heronpy.kernel.plans import PhysicalPlan

#: a zone without a name, which zoneinfo does not have
_OFFSET = re.compile(r"[+-]\d\d:\d\d")
_EPOCH = datetime.datetime(1970, 1, 1)
#: words of a dictionary that no frame has so many of
_ANY = 1 << 31


class UnfitError(Exception):
    """A value that does not fit its field, in a row with this number among those that were given."""

    def __init__(self, row: int, field: Any, value: object) -> None:
        super().__init__(row, field, value)
        self.row = row
        #: of the Arrow schema
        self.field = field
        self.value = value


def unfit(error: UnfitError) -> str:
    """What does not fit, in words."""
    field, value = error.field, error.value
    found = f"{type(value).__name__} {' '.join(shown(value).split())}"
    return f"{field.name!r} is {type_of(field)}, not the {found}"


def type_of(field: Any) -> str:
    """The type of an Arrow field as it is shown."""
    return f"{field.type}{'' if field.nullable else ' not null'}"


class RowFitting:
    """Fits rows to an Arrow schema; they have as many values as that has fields."""

    def __init__(self, schema: Any) -> None:
        self._columns = [_Column(field) for field in schema]
        self._fits = [column.one_by_one() for column in self._columns]

    def row(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """One row; UnfitError for a value that does not fit, ValueError for another number of them."""
        return tuple([fit(value) for fit, value in zip(self._fits, row, strict=True)])

    def rows(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Many rows, column by column; the list itself if it remains as it is."""
        given = list(zip(*rows, strict=True))
        if not given:
            return rows
        fitted = [column.fitted(values) for column, values in zip(self._columns, given, strict=True)]
        if all(after is before for after, before in zip(fitted, given, strict=True)):
            return rows
        return list(zip(*fitted, strict=True))


class _Column:
    """One field of a schema."""

    def __init__(self, field: Any) -> None:
        import pyarrow as pa

        self._field = field
        self._kind = field.type
        while pa.types.is_dictionary(self._kind) or pa.types.is_run_end_encoded(self._kind):
            self._kind = self._kind.value_type
        self._native, self._admits = _native(self._kind)
        #: values of these types come back from the column as they are, if it takes them
        self._unchanged = frozenset({self._native, type(None)})
        self._errors = column_errors()

    def one_by_one(self) -> Callable[[Any], Any]:
        """Fits one value, mostly without Arrow."""
        native, admits, nullable, fitted = self._native, self._admits, self._field.nullable, self.fitted

        def fit(value: Any) -> Any:
            if (type(value) is native and admits(value)) or (value is None and nullable):
                return value
            return fitted((value,))[0]

        return fit

    def fitted(self, values: Sequence[Any]) -> Sequence[Any]:
        """All values of the column; UnfitError with the first that does not fit."""
        try:
            return self._converted(values)
        except self._errors:
            return [self._alone(number, value) for number, value in enumerate(values)]

    def _alone(self, number: int, value: object) -> Any:
        try:
            return self._converted((value,))[0]
        except self._errors as error:
            raise UnfitError(number, self._field, value) from error

    def _converted(self, values: Sequence[Any]) -> Sequence[Any]:
        array = array_of(values, self._kind)
        if array.null_count and not self._field.nullable:
            raise ValueError(None)
        if self._unchanged.issuperset(map(type, values)):
            return values
        held = _held(array)
        if not all(map(_same, values, held)):
            raise ValueError(values)
        return held


def column_errors() -> tuple[type[Exception], ...]:
    """What is raised for values that a column does not take."""
    import pyarrow as pa

    return (pa.ArrowException, TypeError, ValueError, OverflowError, LookupError)


def array_of(values: Sequence[Any], kind: Any) -> Any:
    """An Arrow array of this type; `column_errors` for values that it does not take."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(kind):
        return _with_words(array_of(values, kind.value_type), kind)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(array_of(values, kind.value_type), run_end_type=kind.run_end_type)
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        stored = [value.bytes if isinstance(value, uuid.UUID) else value for value in values]
        return pa.ExtensionArray.from_storage(kind, pa.array(stored, kind.storage_type))
    if pa.types.is_float16(kind):
        return pa.array(_halves(values), kind)
    return pa.array(values, kind)


def _halves(values: Sequence[Any]) -> list[Any]:
    """Numbers as NumPy's, which are all that older versions of Arrow take for such a column."""
    import numpy as np

    with np.errstate(over="ignore"):
        return [
            value if isinstance(value, bool) or not isinstance(value, numbers.Real) else np.float16(value)
            for value in values
        ]


def _with_words(array: Any, kind: Any) -> Any:
    """A dictionary of this type: pa.array makes none of most types, and changes that of the indices."""
    import pyarrow as pa

    try:
        found = array.dictionary_encode()
        indices, words = found.indices, found.dictionary
    except pa.ArrowNotImplementedError:  # of a rare type
        indices, words = pa.array(range(len(array)), pa.int32()), array
    return pa.DictionaryArray.from_arrays(indices.cast(kind.index_type), words, ordered=kind.ordered)


def most_rows(plan: PhysicalPlan, component: str) -> dict[int, int]:
    """By number of a stream: of so many rows, its dictionaries have all words; none where there are none."""
    found: dict[int, int] = {}
    for stream in plan.logical.component(component).outputs:
        number = plan.streams.index((component, stream.name))
        for words in map(_most_words, arrow_schema(stream.schema).types if stream.schema else ()):
            if words:
                found[number] = min(words, found.get(number, words))
    return found


def _most_words(kind: Any) -> int:
    """Of so many rows of this type, its dictionaries have all words; 0 for a type that has none."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return int(2 ** (kind.index_type.bit_width - types.is_signed_integer(kind.index_type)))
    within = [words for place in range(kind.num_fields) if (words := _most_words(kind.field(place).type))]
    if not within or types.is_struct(kind):
        return min(within, default=0)
    return 1 if min(within) < _ANY else _ANY  # one list has any number of words


def _native(kind: Any) -> tuple[type, Callable[[Any], bool]]:
    """The type whose values a column gives back as they are, and which of them it surely takes."""
    import pyarrow.types as types

    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return str, str.isascii  # others may have half a surrogate pair: Arrow looks
    if types.is_integer(kind):
        signed = types.is_signed_integer(kind)
        least = -(2 ** (kind.bit_width - 1)) if signed else 0
        return int, range(least, least + 2**kind.bit_width).__contains__
    if types.is_float64(kind):
        return float, _always
    if types.is_boolean(kind):
        return bool, _always
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return bytes, _always
    return (datetime.date, _always) if types.is_date(kind) else (type(None), _never)


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


def _held(array: Any) -> list[Any]:
    """The values of an array, as Python's own: not those of NumPy, pandas or pytz, if these are installed."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_float16(kind):
        array = array.cast(pa.float64())
    elif pa.types.is_time64(kind):
        array = array.cast(pa.time64("us"))
    elif pa.types.is_duration(kind) and kind.unit == "ns":
        array = array.cast(pa.duration("us"))
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        array = array.cast(pa.timestamp("us", kind.tz))
    values: list[Any] = array.to_pylist()
    if pa.types.is_timestamp(kind) and kind.tz is not None and not _OFFSET.fullmatch(kind.tz):
        clock = zoneinfo.ZoneInfo(kind.tz)
        return [None if value is None else value.astimezone(clock) for value in values]
    return values


def _same(value: Any, held: Any) -> bool:
    """Whether a column that gives back `held` has kept all of a value.

    Floats are rounded to their column; numbers stand for dates and times, and text and UTF-8 for each other.
    Arrow would also cut off fractions, times of day and zones, and leave out items of a dict.
    """
    match held:
        case float():
            return _same_number(value, held)
        case datetime.datetime() if isinstance(value, datetime.datetime):
            return _moment(value) == _moment(held)
        case datetime.date() | datetime.time() | datetime.timedelta():
            return type(value) is int or (value == held and not isinstance(value, datetime.datetime))
        case str() if isinstance(value, bytes | bytearray | memoryview):
            return value == held.encode()
        case bytes() if isinstance(value, str):
            return value.encode() == held
        case uuid.UUID():
            return bool(value in (held, held.bytes))
        case list() | tuple():
            items = value.items() if isinstance(value, Mapping) else value
            return len(items) == len(held) and all(map(_same, items, held))
        case dict():
            given = _named(value, held)
            return given.keys() <= held.keys() and all(_same(given.get(key), held[key]) for key in held)
    return bool(value == held)


def _named(value: Any, held: Mapping[str, Any]) -> Mapping[Any, Any]:
    """The items of a struct by name: they may be given by place, or as pairs."""
    if isinstance(value, Mapping):
        return value
    if all(isinstance(item, tuple) and len(item) == 2 and item[0] in held for item in value):
        return dict(value)
    return dict(zip(held, value, strict=True))


def _same_number(value: Any, held: float) -> bool:
    if held != held:
        return bool(value != value)
    return value == held or (math.isfinite(held) and not isinstance(value, numbers.Integral))


def _moment(value: datetime.datetime) -> tuple[bool, datetime.timedelta]:
    """Comparable between zones: Python calls none of an hour that comes twice equal to one elsewhere."""
    offset = value.utcoffset()
    return offset is None, value.replace(tzinfo=None) - _EPOCH - (offset or datetime.timedelta(0))
