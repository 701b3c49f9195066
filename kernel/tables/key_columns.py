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
    return (
        older.num_rows < 2 * newer.num_rows
        and older.num_rows + newer.num_rows <= _ROWS
        and older.nbytes + newer.nbytes <= _BYTES
    )
