"""The columns of keys of a table, by place, in parts that never change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: rows, and bytes, up to which parts are copied into one: no copy takes long, and no column of strings
#: comes to the 2 GiB that are too many for its offsets
_ROWS = 2**18
_BYTES = 2**24


class KeyColumns:
    """Keys are only added, behind the others."""

    def __init__(self, schema: Any, parts: tuple[Any, ...] = ()) -> None:
        self._schema = schema
        #: record batches, none of which is empty
        self._parts = parts

    def append(self, columns: list[Any]) -> None:
        """The keys of the next places; nothing has changed if it fails."""
        import pyarrow as pa

        parts = [*self._parts, pa.RecordBatch.from_arrays(columns, schema=self._schema)]
        while len(parts) > 1 and _is_to_join(*parts[-2:]):
            parts[-2:] = pa.Table.from_batches(parts[-2:]).combine_chunks().to_batches()
        self._parts = tuple(parts)

    def frozen(self) -> KeyColumns:
        """The same keys, whatever is added to these."""
        return KeyColumns(self._schema, self._parts)

    def rows_within(self, size: int, most: int) -> int:
        """How many keys of the usual length have so many bytes; from one to so many."""
        rows: int = sum(part.num_rows for part in self._parts)
        whole: int = sum(part.nbytes for part in self._parts)
        return max(1, min(most, size * rows // max(1, whole)))

    def taken(self, places: npt.NDArray[np.int64]) -> list[Any]:
        """The keys at these places, which rise, as record batches: one, if they are not too long for one."""
        import numpy as np
        import pyarrow as pa

        ends = np.cumsum([part.num_rows for part in self._parts])
        stops = np.searchsorted(places, ends)
        found = []
        for part, begin, stop, end in zip(self._parts, [0, *stops], stops, ends, strict=False):
            if begin < stop:
                found.append(part.take(pa.array(places[begin:stop] - (end - part.num_rows))))
        return found if len(found) < 2 else list(pa.Table.from_batches(found).combine_chunks().to_batches())

    def filtered(self, kept: npt.NDArray[np.bool_]) -> KeyColumns:
        """Only these places, in their order."""
        import pyarrow as pa

        found = KeyColumns(self._schema)
        begin = 0
        for part in self._parts:
            end = begin + part.num_rows
            if kept[begin:end].any():
                found.append(part.filter(pa.array(kept[begin:end])).columns)
            begin = end
        return found

    def whole(self) -> list[Any]:
        """An array for each column."""
        import pyarrow as pa

        return [
            pa.concat_arrays([part.column(number) for part in self._parts])
            if self._parts
            else pa.array([], field.type)
            for number, field in enumerate(self._schema)
        ]


def _is_to_join(older: Any, newer: Any) -> bool:
    """So that sizes fall by half from part to part, and a key is copied only a few times."""
    rows: int = older.num_rows + newer.num_rows
    size: int = older.nbytes + newer.nbytes
    return rows < 3 * newer.num_rows and rows <= _ROWS and size <= _BYTES
