"""Key groups of Arrow columns: those that keys.py gives the same values, row by row.

Hashed by `_column_keys.c` where the installation had a compiler, in Python otherwise, with the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_64_intdigest

from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.canonical_columns import CanonicalColumn, canonical, converter, is_text_or_bytes
from heronpy.kernel.flow.keys import encode_key, key_group

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: what results hold
_MOST_GROUPS = 2**32


def key_groups(columns: Sequence[Any], groups: int) -> npt.NDArray[np.uint32]:
    """The key group of every row of these Arrow arrays, plain or chunked; several make tuples.

    TypeError for a type or a value that cannot be a key.
    """
    import numpy as np

    if not columns or not 1 <= groups <= _MOST_GROUPS:
        msg = f"keys of {len(columns)} columns in {groups} groups: there must be one at least of each"
        raise ValueError(msg)
    for column in columns:
        converter(column.type)
    found = [_of_arrays(arrays, groups) for arrays in _aligned(columns)]
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty(0, np.uint32)


def _aligned(columns: Sequence[Any]) -> Iterator[list[Any]]:
    """Arrays of one length, since chunks of different columns end where they like."""
    import pyarrow as pa

    if len(columns) == 1 and isinstance(columns[0], pa.ChunkedArray):
        yield from ([chunk] for chunk in columns[0].chunks)
    elif any(isinstance(column, pa.ChunkedArray) for column in columns):
        table = pa.Table.from_arrays(list(columns), names=[str(number) for number in range(len(columns))])
        yield from (batch.columns for batch in table.to_batches())
    elif len({len(column) for column in columns}) > 1:
        msg = f"the columns of a key have different lengths: {', '.join(str(len(each)) for each in columns)}"
        raise ValueError(msg)
    else:
        yield list(columns)


def _of_arrays(arrays: list[Any], groups: int) -> npt.NDArray[np.uint32]:
    import pyarrow as pa

    first = arrays[0]
    if len(arrays) == 1 and isinstance(first, pa.DictionaryArray):
        words = first.dictionary
        if is_text_or_bytes(words.type) and len(words) <= len(first):
            return _looked_up(_hashed([canonical(words)], groups), first.indices, groups)
    return _hashed([canonical(array) for array in arrays], groups)


def _looked_up(of_words: npt.NDArray[np.uint32], indices: Any, groups: int) -> npt.NDArray[np.uint32]:
    """From the groups of the words of a dictionary to those of its rows."""
    import numpy as np
    import pyarrow as pa

    table = np.append(of_words, np.uint32(key_group(None, groups)))
    places: npt.NDArray[np.int64] = indices.cast(pa.int64()).fill_null(len(of_words)).to_numpy()
    return table[places]


def _hashed(columns: list[CanonicalColumn], groups: int) -> npt.NDArray[np.uint32]:
    import numpy as np

    if compiled.columns is None:
        return _hashed_in_python(columns, groups)
    rows = len(columns[0].values)
    found = np.empty(rows, np.uint32)
    compiled.columns.key_groups(tuple(map(described, columns)), rows, groups, found)
    return found


def described(column: CanonicalColumn) -> tuple[str, bytes, int, Any, Any, Any]:
    """Form, tag, first row, data, offsets and validity, as the compiled module reads them."""
    values = column.values
    form = _FORMS[str(values.type)]
    validity, *places, data = values.buffers() if form != "0" else (None, None)
    return form, column.tag, values.offset, data, places[0] if places else None, validity


#: by the names of Arrow's types, see `enum kind` in _column_keys.c
_FORMS = {"null": "0", "int64": "i", "uint64": "u", "double": "f", "binary": "b", "large_binary": "B"}


def _hashed_in_python(columns: list[CanonicalColumn], groups: int) -> npt.NDArray[np.uint32]:
    import numpy as np

    if len(columns) == 1:
        found = columns[0].values.dictionary_encode()
        words = _encoded(columns[0].tag, found.dictionary)
        of_words = np.array([xxh3_64_intdigest(word) % groups for word in words], np.uint32)
        return _looked_up(of_words, found.indices, groups)
    return np.array([xxh3_64_intdigest(row) % groups for row in encoded_rows(columns)], np.uint32)


def encoded_rows(columns: list[CanonicalColumn]) -> list[bytes]:
    """Every key as keys.py encodes it."""
    if len(columns) == 1:
        return _encoded_column(columns[0])
    parts = (_encoded_column(column) for column in columns)
    sized = ([len(part).to_bytes(4, "little") + part for part in column] for column in parts)
    return [b"(" + b"".join(row) for row in zip(*sized, strict=True)]


def _encoded_column(column: CanonicalColumn) -> list[bytes]:
    """Each distinct value is encoded once."""
    found = column.values.dictionary_encode()
    words = [*_encoded(column.tag, found.dictionary), encode_key(None)]
    return [words[-1 if place is None else place] for place in found.indices.to_pylist()]


def _encoded(tag: bytes, words: Any) -> list[bytes]:
    import pyarrow as pa

    if pa.types.is_binary(words.type) or pa.types.is_large_binary(words.type):
        return [tag + word for word in words.to_pylist()]
    return [tag + encode_key(word) for word in words.to_pylist()]
