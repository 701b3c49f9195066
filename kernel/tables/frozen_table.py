"""Entries of a table as they were at one moment, sorted by key group and taken out in short steps."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from heronpy.kernel.flow.column_split import split
from heronpy.kernel.tables.key_columns import KeyColumns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: places that one step looks at; each step takes a millisecond or so
_PLACES = 2**15
#: entries, bytes of keys and key groups that one step takes out
_ENTRIES = 2**12
_BYTES = 2**20
_GROUPS = 16


class TablePart(NamedTuple):
    """Entries of one key group: columns of keys, then of values."""

    entries: Any

    def to_bytes(self) -> bytes:
        """As Arrow's IPC stream."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.entries.schema) as writer:
            writer.write_batch(self.entries)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


#: what a step has found: key groups, each with entries of it
Found = list[tuple[int, TablePart]]


class FrozenTable:
    """Entries of some key groups of a table as they were at one moment. Arrays are by place."""

    def __init__(
        self,
        schema: Any,
        keys: KeyColumns,
        values: list[npt.NDArray[Any]],
        group_of: npt.NDArray[np.uint32],
        gone: npt.NDArray[np.bool_],
    ) -> None:
        self._schema = schema
        self._keys = keys
        self._values = values
        self._group_of = group_of
        self._gone = gone

    def parts(self, groups: Collection[int]) -> Iterator[Found]:
        """The entries of these groups. A step may find nothing yet; a large group comes in several parts."""
        import numpy as np

        wanted = np.array(sorted(groups), np.int64)
        order, ends = yield from self._sorted(wanted)
        most = self._keys.rows_within(_BYTES, _ENTRIES)
        for begin, end in _spans(ends, most):
            yield list(self._taken(np.sort(order[begin:end]).astype(np.int64)))

    def _sorted(
        self, wanted: npt.NDArray[np.int64]
    ) -> Generator[Found, None, tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]]:
        """Places group by group, and where each group ends. A counting sort, some places at a time."""
        import numpy as np

        counts = np.zeros(len(wanted), np.int64)
        for _, lanes in self._lanes(wanted):
            counts += np.bincount(lanes, minlength=len(wanted))
            yield []
        ends = np.cumsum(counts)
        order = np.empty(counts.sum(), np.uint32)  # an index has fewer places than that
        free = ends - counts
        for places, unsorted in self._lanes(wanted):
            rows = np.argsort(unsorted, kind="stable")
            lanes = unsorted[rows]
            here = np.bincount(lanes, minlength=len(wanted))
            order[(free - np.cumsum(here) + here)[lanes] + np.arange(len(lanes))] = places[rows]
            free += here
            yield []
        return order, ends

    def _lanes(
        self, wanted: npt.NDArray[np.int64]
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.signedinteger[Any]]]]:
        """Places that have an entry of these groups, and the number of its group among them."""
        import numpy as np

        # NumPy sorts numbers of 16 bits by radix
        kind: type[np.signedinteger[Any]] = np.int16 if len(wanted) < 2**15 else np.int32
        lane_of: npt.NDArray[np.signedinteger[Any]] = np.full(int(wanted.max(initial=-1)) + 2, -1, kind)
        lane_of[wanted] = np.arange(len(wanted))
        for begin in range(0, len(self._group_of), _PLACES):
            end = begin + _PLACES
            # the last lane is that of all groups beyond those that are wanted
            lanes = lane_of[np.minimum(self._group_of[begin:end], len(lane_of) - 1)]
            rows = np.flatnonzero((lanes >= 0) & ~self._gone[begin:end])
            yield begin + rows, lanes[rows]

    def _taken(self, places: npt.NDArray[np.int64]) -> Iterator[tuple[int, TablePart]]:
        """The entries at these places, which rise."""
        import pyarrow as pa

        begin = 0
        for keys in self._keys.taken(places):
            rows = places[begin : begin + keys.num_rows]
            columns = [*keys.columns, *(pa.array(values[rows]) for values in self._values)]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            for group, part in split(batch, self._group_of[rows]).items():
                yield group, TablePart(part)
            begin += keys.num_rows


def _spans(ends: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Rows to take out at a time, where groups end at `ends`: whole groups, but of one that is too large."""
    import numpy as np

    begin, rows = 0, int(ends[-1]) if len(ends) else 0
    while begin < rows:
        first = int(np.searchsorted(ends, begin, "right"))
        end = min(begin + most, int(ends[min(first + _GROUPS, len(ends)) - 1]))
        whole = int(ends[np.searchsorted(ends, end, "right") - 1]) if end >= ends[first] else end
        yield begin, whole
        begin = whole
