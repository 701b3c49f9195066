"""A table of keyed state in columns: numbers for each key, read and changed for whole columns of keys.

Keys are those of a fields grouping, so every entry belongs to a key group; groups are taken out and put in as
bytes, for checkpoints and when tasks are added or removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heronpy.kernel.errors import KeyNotOwned
from heronpy.kernel.flow.canonical_columns import canonical, converter
from heronpy.kernel.tables.frozen_table import FrozenTable
from heronpy.kernel.tables.key_columns import KeyColumns
from heronpy.kernel.tables.key_index import make_index
from heronpy.kernel.tables.numbers_given import as_numbers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: removed keys that keep their places, or as many as there are entries: making places anew takes long
_MOST_GONE = 1_024


class KeyTable:
    """Key columns of the schema `keys`, and for each name in `values` an array of numbers of that type.

    A key that is not there has zeros. All columns of a call have one length; where a key comes in several
    rows, they count in their order.
    """

    def __init__(self, keys: Any, values: Mapping[str, npt.DTypeLike], groups: int) -> None:
        import numpy as np

        self._schema = keys
        for field in keys:
            _check_key_type(field)
        self._types = {name: np.dtype(kind) for name, kind in values.items()}
        self._groups = groups
        #: by group, whether something has changed since the last forget_changes()
        self._changed = np.zeros(groups, np.bool_)
        #: by group, whether its keys may be in the table; None for all
        self.owned: Sequence[bool] | None = None
        self._index = make_index()
        #: by place, as all that follows: where the index has a key
        self._keys = KeyColumns(keys)
        self._values = {name: np.zeros(0, kind) for name, kind in self._types.items()}
        self._group_of = np.zeros(0, np.uint32)
        #: keys that were removed: they keep their place, with zeros, until there are too many of them
        self._gone = np.zeros(0, np.bool_)
        #: the others; one number, since another thread asks for it
        self._entries = 0
        #: by group, whether it has had a key
        self._present = np.zeros(groups, np.bool_)
        #: whether all of those have changed
        self._all_changed = False

    def __len__(self) -> int:
        """Safe from any thread."""
        return self._entries

    def contains(self, keys: Sequence[Any]) -> npt.NDArray[np.bool_]:
        """Whether each row's key is there."""
        return self._find(keys) >= 0

    def get(self, keys: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
        """The values of each row's key, by name."""
        import numpy as np

        places = self._find(keys)
        there = places >= 0
        found = {name: np.zeros(len(places), kind) for name, kind in self._types.items()}
        for name, values in found.items():
            values[there] = self._values[name][places[there]]
        return found

    def set(self, keys: Sequence[Any], values: Mapping[str, Any]) -> None:
        """Set these values; others of the same key stay as they are."""
        columns = self._checked(keys)
        numbers = self._numbers(values, len(columns[0]))
        places, _ = self._enlist(columns)
        for name, column in numbers.items():
            self._values[name][places] = column

    def add(self, keys: Sequence[Any], values: Mapping[str, Any]) -> None:
        """Add to these values."""
        import numpy as np

        columns = self._checked(keys)
        numbers = self._numbers(values, len(columns[0]))
        places, _ = self._enlist(columns)
        for name, column in numbers.items():
            np.add.at(self._values[name], places, column)

    def merge(self, keys: Sequence[Any], values: Mapping[str, Any], how: np.ufunc) -> None:
        """Combine these values by a function such as `numpy.minimum`; a key's first value stands as it is."""
        import numpy as np

        columns = self._checked(keys)
        numbers = self._numbers(values, len(columns[0]))
        places, first = self._enlist(columns)
        later = np.ones(len(places), np.bool_)
        later[first] = False
        for name, column in numbers.items():
            self._values[name][places[first]] = column[first]
            how.at(self._values[name], places[later], column[later])

    def remove(self, keys: Sequence[Any]) -> None:
        """Remove the entries of these keys, where there are any."""
        import numpy as np

        places = np.unique(self._find(keys))
        places = places[places >= 0]
        self._changed[self._group_of[places]] = True
        self._gone[places] = True
        for values in self._values.values():
            values[places] = 0
        self._entries -= len(places)
        gone = len(self._index) - self._entries
        if gone > max(_MOST_GONE, self._entries):
            self._keep(~self._gone[: len(self._index)])

    def drop_groups(self, groups: Collection[int]) -> None:
        """Remove all entries of these key groups."""
        dropped = self._are_of(groups)
        if dropped.any():
            self._keep(~dropped & ~self._gone[: len(dropped)])

    @property
    def is_changed(self) -> bool:
        """Whether anything has changed since the last forget_changes()."""
        return bool(self._changed.any())

    def changed_groups(self) -> list[int]:
        """Key groups in which something may have changed since the last forget_changes()."""
        import numpy as np

        found: list[int] = np.flatnonzero(self._changed).tolist()
        return found

    def forget_changes(self, groups: Collection[int]) -> None:
        """These groups count as unchanged."""
        self._changed[list(groups)] = False
        self._all_changed = False

    def frozen(self) -> FrozenTable:
        """The entries as they are now: numbers are copied, and what else is by place never changes."""
        places = len(self._index)
        values = [self._values[name][:places].copy() for name in self._types]
        group_of, gone = self._group_of[:places], self._gone[:places].copy()
        return FrozenTable(self._whole_schema(), self._keys.frozen(), values, group_of, gone)

    def batch(self, groups: Collection[int] | None = None) -> Any:
        """The entries of these key groups, or all, as a record batch: columns of keys, then of values."""
        import pyarrow as pa

        kept = self._kept(groups)
        keys = self._keys if kept.all() else self._keys.filtered(kept)
        # copies: a batch that has been emitted must not follow the table
        values = (pa.array(self._values[name][: len(kept)][kept]) for name in self._types)
        return pa.RecordBatch.from_arrays([*keys.whole(), *values], schema=self._whole_schema())

    def load(self, data: bytes) -> None:
        """Set the entries that another table of this form has written; ValueError for another form."""
        import pyarrow as pa

        with pa.ipc.open_stream(data) as stream:
            if stream.schema != self._whole_schema():
                msg = f"a table of {_named(stream.schema)} is no table of {_named(self._whole_schema())}"
                raise ValueError(msg)
            batches = list(stream)
        for batch in batches:
            columns = batch.columns
            self.set(
                columns[: len(self._schema)],
                dict(zip(self._types, columns[len(self._schema) :], strict=True)),
            )

    def _whole_schema(self) -> Any:
        import pyarrow as pa

        values = [pa.field(name, pa.from_numpy_dtype(kind)) for name, kind in self._types.items()]
        return pa.schema([*self._schema, *values])

    def _checked(self, keys: Sequence[Any]) -> list[Any]:
        """Plain arrays of the types that the table has."""
        import pyarrow as pa

        keys = [keys] if isinstance(keys, pa.Array | pa.ChunkedArray) else keys
        if len(keys) != len(self._schema):
            msg = f"{len(keys)} columns of keys for a table of {_named(self._schema)}"
            raise ValueError(msg)
        columns = []
        for field, column in zip(self._schema, keys, strict=True):
            whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            plain = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
            if plain.type != field.type:
                msg = f"keys of type {plain.type} for {_named([field])} of a table: cast them"
                raise TypeError(msg)
            columns.append(plain)
        if len({len(column) for column in columns}) > 1:
            msg = f"columns of keys have different lengths: {', '.join(str(len(each)) for each in columns)}"
            raise ValueError(msg)
        return columns

    def _numbers(self, values: Mapping[str, Any], rows: int) -> dict[str, npt.NDArray[Any]]:
        """As arrays of the table's types, before anything changes."""
        import numpy as np

        strange = [name for name in values if name not in self._types]
        if strange:
            msg = f"a table of {', '.join(self._types)} has no values {', '.join(strange)}"
            raise ValueError(msg)
        empty = [name for name, column in values.items() if getattr(column, "null_count", 0)]
        if empty:
            msg = f"values {', '.join(empty)} of a table with nulls: fill them"
            raise ValueError(msg)
        arrays = {name: as_numbers(name, column, self._types[name]) for name, column in values.items()}
        return {name: np.broadcast_to(array, (rows,)) for name, array in arrays.items()}

    def _find(self, keys: Sequence[Any]) -> npt.NDArray[np.int64]:
        """The places of keys; -1 for one that is not there."""
        places = self._index.find([canonical(column) for column in self._checked(keys)])
        if self._entries < len(self._index):
            places[self._gone[places]] = -1
        return places

    def _enlist(self, columns: list[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The places of keys, after those that were not there have been added, with zeros; and the rows where
        those come first.
        """
        before = len(self._index)
        places = self._index.enlist([canonical(column) for column in columns])
        try:
            first = self._add_entries(before, places, columns)
        except BaseException:  # a key of another task, or no memory: what is only in the index has no values
            self._index.truncate(before)
            raise
        if not self._all_changed:  # as mostly after a batch or two
            self._changed[self._group_of[places]] = True
            self._all_changed = bool(self._changed[self._present].all())
        return places, first

    def _add_entries(
        self, before: int, places: npt.NDArray[np.int64], columns: list[Any]
    ) -> npt.NDArray[np.int64]:
        """For keys that the index has from this place on, and those that come back; the rows with them."""
        import numpy as np

        back, new = self._first_back(before, places), _first_rows(places, before)
        first = np.concatenate([back, new])
        if len(first):
            hashes = self._index.hashes(before)
            groups = (hashes % np.uint64(self._groups)).astype(np.uint32)
            self._check_owned(np.concatenate([self._group_of[places[back]], groups]), first, columns)
            if len(new):
                self._add_places(before, groups, new, columns)
            self._gone[places[back]] = False
            self._entries += len(first)
        return first

    def _first_back(self, before: int, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The first row of each key that was removed."""
        import numpy as np

        if self._entries == before:
            return np.empty(0, np.int64)
        rows = np.flatnonzero(places < before)
        rows = rows[self._gone[places[rows]]]
        _, first = np.unique(places[rows], return_index=True)
        return rows[first]

    def _check_owned(
        self, groups: npt.NDArray[np.uint32], rows: npt.NDArray[np.int64], columns: list[Any]
    ) -> None:
        """KeyNotOwned if the key of one of these rows is in a group that is not owned."""
        import numpy as np

        if self.owned is not None and not (ours := np.array(self.owned, np.bool_)[groups]).all():
            stranger = int(np.flatnonzero(~ours)[0])
            key = [column[int(rows[stranger])].as_py() for column in columns]
            msg = f"key {key} is in key group {groups[stranger]}, which belongs to another task"
            raise KeyNotOwned(msg, hint="use keys of batches that come by fields grouping")

    def _add_places(
        self, before: int, groups: npt.NDArray[np.uint32], rows: npt.NDArray[np.int64], columns: list[Any]
    ) -> None:
        """For keys of these rows, which are in these groups. Nothing has changed if it fails."""
        import pyarrow as pa

        size = before + len(rows)
        values = {name: _grown(array, size) for name, array in self._values.items()}
        group_of, gone = _grown(self._group_of, size), _grown(self._gone, size)
        self._keys.append([column.take(pa.array(rows)) for column in columns])
        self._values, self._group_of, self._gone = values, group_of, gone
        group_of[before:size] = groups
        self._present[groups] = True
        self._all_changed = False

    def _kept(self, groups: Collection[int] | None) -> npt.NDArray[np.bool_]:
        """By place, whether there is an entry, of these groups or of any."""
        there = ~self._gone[: len(self._index)]
        return there if groups is None else there & self._are_of(groups)

    def _are_of(self, groups: Collection[int]) -> npt.NDArray[np.bool_]:
        """By place, whether the key is of one of these groups."""
        import numpy as np

        wanted = np.zeros(self._groups, np.bool_)
        wanted[list(groups)] = True
        return wanted[self._group_of[: len(self._index)]]

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Only these places, numbered anew in their order."""
        import numpy as np

        keys = self._keys.filtered(kept)
        values = {name: array[: len(kept)][kept] for name, array in self._values.items()}
        group_of = self._group_of[: len(kept)][kept]
        gone, present = np.zeros(len(group_of), np.bool_), np.zeros(self._groups, np.bool_)
        present[group_of] = True
        self._index.keep(kept)
        self._keys, self._values, self._group_of, self._gone = keys, values, group_of, gone
        self._entries, self._present, self._all_changed = len(group_of), present, False


def _grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """With room for so many at least; what is new is zero."""
    import numpy as np

    if len(array) >= size:
        return array
    return np.concatenate([array, np.zeros(max(len(array), size - len(array)), array.dtype)])


def _first_rows(places: npt.NDArray[np.int64], before: int) -> npt.NDArray[np.int64]:
    """The first row of each key that is new, by place."""
    import numpy as np

    rows = np.flatnonzero(places >= before)
    first = np.empty(int(places.max(initial=-1)) + 1 - before if len(rows) else 0, np.int64)
    first[places[rows][::-1] - before] = rows[::-1]  # the last one that is written stays
    return first


def _check_key_type(field: Any) -> None:
    import pyarrow.types as types

    converter(field.type)
    kinds = (types.is_string_view, types.is_binary_view, types.is_dictionary, types.is_run_end_encoded)
    if any(is_kind(field.type) for is_kind in kinds):
        msg = (
            f"a table cannot keep keys as {_named([field])}: use the plain type, keys of a dictionary fit it"
        )
        raise TypeError(msg)


def _named(fields: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in fields)
