"""Fields: the task that owns the key group of the tuple's key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from heronpy.instances.excerpts import shown
from heronpy.instances.output.groupings.grouping import Grouping
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.canonical_columns import is_text_or_bytes
from heronpy.kernel.flow.column_keys import key_groups as column_key_groups
from heronpy.kernel.flow.column_split import split
from heronpy.kernel.flow.keys import encode_key, key_group, key_groups

T = TypeVar("T")


class Fields(Grouping[T]):
    """Equal keys always meet at one task: across processes, restarts and machines."""

    by_value = True

    def __init__(
        self,
        lanes: Mapping[int, T],
        owners: Sequence[int],
        names: Sequence[str],
        declared: Sequence[str],
        where: str,
    ) -> None:
        super().__init__(lanes)
        self._owners = owners
        #: a ready-made answer per key group
        self._table = [(lanes[task],) for task in owners]
        self._groups = len(owners)
        #: the lanes that own any group, and for each group which of them does
        receivers = sorted(set(owners))
        self._lanes = [lanes[task] for task in receivers]
        places = {task: place for place, task in enumerate(receivers)}
        self._places = [places[task] for task in owners]
        self._place_array: Any = None
        self._names = names
        self._columns = [declared.index(name) for name in names]
        self._key: Callable[[tuple[Any, ...]], object] = itemgetter(*self._columns)
        self._where = where
        self.targets = self._choice()  # type: ignore[method-assign, assignment]

    def _choice(self) -> Callable[[tuple[Any, ...]], Sequence[T]]:
        """The choice as a plain function, since it is made for every tuple."""
        table, groups, column = self._table, self._groups, self._columns[0]

        def by_one(row: tuple[Any, ...]) -> Sequence[T]:
            try:
                return table[key_group(row[column], groups)]
            except TypeError as error:
                raise self._explained(row) from error

        def by_several(row: tuple[Any, ...]) -> Sequence[T]:
            try:
                return table[key_group(key(row), groups)]
            except TypeError as error:
                raise self._explained(row) from error

        def to_the_only_one(row: tuple[Any, ...]) -> Sequence[T]:
            return only if type(row[column]) is str else by_one(row)  # every string is a key

        key, only = self._key, (self._lanes[0],)
        if len(self._columns) > 1:
            return by_several
        return to_the_only_one if len(self._lanes) == 1 else by_one

    def split(
        self, rows: Sequence[tuple[Any, ...]], sent: Sequence[tuple[Any, ...]]
    ) -> Iterable[tuple[T, Sequence[tuple[Any, ...]]]]:
        """No key is looked up in a cache: with few or many keys that was slower than to hash it."""
        keys = list(map(self._key, rows))
        if len(self._lanes) == 1 and set(map(type, keys)) <= {str}:
            return [(self._lanes[0], sent)]  # every string is a key, whatever its group
        try:
            groups = key_groups(keys, self._groups)
        except TypeError:
            for row in rows:
                self.targets(row)  # raises for the row that has no key
            raise
        pieces: list[list[tuple[Any, ...]]] = [[] for _ in self._lanes]
        places, add = self._places, [piece.append for piece in pieces]
        for group, row in zip(groups, sent, strict=True):
            add[places[group]](row)
        return [(lane, piece) for lane, piece in zip(self._lanes, pieces, strict=True) if piece]

    def split_columns(self, batch: Any) -> Iterable[tuple[T, Any]]:
        keys = [batch.column(place) for place in self._columns]
        if len(self._lanes) == 1 and all(is_text_or_bytes(key.type) for key in keys):
            return [(self._lanes[0], batch)]  # every string is a key, whatever its group
        places = self._owner_places()[self._groups_of(keys)]
        return [(self._lanes[place], part) for place, part in split(batch, places).items()]

    def column_owners(self, batch: Any, task: int, index: int) -> list[tuple[int | None, Any]]:
        """Whatever task the rows were for: their keys have owners."""
        del task, index
        groups = self._groups_of([batch.column(place) for place in self._columns])
        tasks = sorted(set(self._owners))
        return [(tasks[place], part) for place, part in split(batch, self._owner_places()[groups]).items()]

    def _groups_of(self, keys: Sequence[Any]) -> Any:
        try:
            return column_key_groups(keys, self._groups)
        except TypeError as error:
            msg = f"{', '.join(map(repr, self._names))} of {self._where}: {error}"
            raise TopologyError(msg) from error

    def _owner_places(self) -> Any:
        """By key group, the place of its owner; an array that is made once."""
        import numpy as np

        if self._place_array is None:
            self._place_array = np.array(self._places, np.int64)
        return self._place_array

    def again(self, row: Sequence[Any], task: int, index: int) -> int | None:
        """Whatever task the row was for: its key has one owner."""
        del task, index
        return self._owners[key_group(self._key(tuple(row)), self._groups)]

    def _explained(self, row: tuple[Any, ...]) -> TopologyError:
        for name, column in zip(self._names, self._columns, strict=True):
            try:
                encode_key(row[column])
            except TypeError as error:
                return TopologyError(f"field {name!r} of {self._where}: {error}")
        return TopologyError(f"a key of {self._where} cannot be encoded: {shown(self._key(row))}")
