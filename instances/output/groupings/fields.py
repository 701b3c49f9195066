"""Fields: the task that owns the key group of the tuple's key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from heronpy.instances.excerpts import shown
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.keys import encode_key, key_group

T = TypeVar("T")


class Fields(Generic[T]):
    """Equal keys always meet at one task: across processes, restarts and machines."""

    def __init__(
        self,
        lanes: Mapping[int, T],
        owners: Sequence[int],
        names: Sequence[str],
        declared: Sequence[str],
        where: str,
    ) -> None:
        #: a ready-made answer per key group
        self._table = [(lanes[task],) for task in owners]
        self._groups = len(owners)
        self._names = names
        self._columns = [declared.index(name) for name in names]
        self._key: Callable[[tuple[Any, ...]], object] = itemgetter(*self._columns)
        self._where = where
        self.targets = self._choice()

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

        key = self._key
        return by_one if len(self._columns) == 1 else by_several

    def _explained(self, row: tuple[Any, ...]) -> TopologyError:
        for name, column in zip(self._names, self._columns, strict=True):
            try:
                encode_key(row[column])
            except TypeError as error:
                return TopologyError(f"field {name!r} of {self._where}: {error}")
        return TopologyError(f"a key of {self._where} cannot be encoded: {shown(self._key(row))}")
