"""Record batches without the words and bytes that none of their rows has.

A slice of an Arrow array shares the dictionary, or the strings of a view, with the whole array. Arrow cuts
all other buffers to what a slice needs when it writes them.
"""

from __future__ import annotations

from typing import Any

from heronpy.kernel.flow.column_split import taken_of

#: what a view has for each row
_VIEW_BYTES = 16


def shares(kind: Any) -> bool:
    """Whether a slice of this type or schema may have more than its rows need, at whatever depth."""
    described = str(kind)
    return "dictionary<" in described or "_view" in described


def compact(batch: Any) -> Any:
    """The same rows, of the same schema; the batch itself where nothing of it can be shared.

    What is shared stays as it is where it takes no more bytes than the rows that refer to it.
    """
    import pyarrow as pa

    if not shares(batch.schema):
        return batch
    columns = [_compacted(column) if shares(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def compact_bytes(batch: Any) -> int:
    """About how many bytes the rows take when they are compact, without making them so."""
    if not shares(batch.schema):
        return int(batch.nbytes)
    return sum(map(_estimated, batch.columns))


def _compacted(column: Any) -> Any:
    import pyarrow as pa

    try:
        return _compact(column)
    except pa.ArrowNotImplementedError:  # a rare type, such as a dictionary of lists of views
        return column


def _compact(array: Any) -> Any:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        return _with_own_words(array)
    if pa.types.is_string_view(kind):
        return _with_own_bytes(array, pa.large_string())
    if pa.types.is_binary_view(kind):
        return _with_own_bytes(array, pa.large_binary())
    if pa.types.is_struct(kind):
        fields = [_compact(array.field(place)) for place in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=_nulls(array))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _with_own_items(array)
    return array


def _with_own_words(array: Any) -> Any:
    """Its dictionary has the words of its rows, in their order; `ordered` stays true."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words, places = array.dictionary, array.indices
    if _bytes(words) <= places.nbytes:
        return array
    used = places.unique().drop_null().sort()
    if len(used) == len(words):
        return array
    return pa.DictionaryArray.from_arrays(
        pc.index_in(places, used).cast(array.type.index_type),
        _compact(taken_of(words, used)),
        ordered=array.type.ordered,
    )


def _with_own_bytes(array: Any, plain: Any) -> Any:
    if _shared_bytes(array) <= _VIEW_BYTES * len(array):
        return array
    return array.cast(plain).cast(array.type)


def _with_own_items(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if not len(array):
        return pa.array([], kind)
    offsets = array.offsets
    begin = offsets[0].as_py()
    own = slice(begin, offsets[-1].as_py())
    offsets = pc.subtract(offsets, begin)
    if pa.types.is_map(kind):
        keys, items = _compact(array.keys[own]), _compact(array.items[own])
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=_nulls(array))
    return type(array).from_arrays(offsets, _compact(array.values[own]), type=kind, mask=_nulls(array))


def _nulls(array: Any) -> Any | None:
    return array.is_null() if array.null_count else None


def _estimated(array: Any) -> int:
    """As if all words, or all strings, of what a slice is from were of one size."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        words = array.dictionary
        share = min(len(array), len(words)) / max(len(words), 1)
        return int(array.indices.nbytes + _bytes(words) * share)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        whole = max(int(array.buffers()[1].size) // _VIEW_BYTES, 1)
        return _VIEW_BYTES * len(array) + _shared_bytes(array) * len(array) // whole
    return _bytes(array)


def _shared_bytes(views: Any) -> int:
    return sum(int(buffer.size) for buffer in views.buffers()[2:])


def _bytes(array: Any) -> int:
    import pyarrow as pa

    try:
        return int(array.nbytes)
    except pa.ArrowTypeError:  # Arrow 18 does not count views
        return int(array.get_total_buffer_size())
