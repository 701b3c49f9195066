"""The tables of a keyed state: opened by the user's code, saved and moved by key group like the mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from heronpy.column_schema import Schema, pyarrow
from heronpy.errors import DefinitionError
from heronpy.instances.saving.state.encoding import encode_table
from heronpy.instances.saving.state.ownership import Owning
from heronpy.instances.saving.state.table_values import value_types
from heronpy.kernel.tables.frozen_table import FrozenTable
from heronpy.kernel.tables.key_table import KeyTable

#: key groups of tables that are not open, which are written at a time
_GROUPS: Final = 16

#: table → key group → its entries, as they were saved, in one part or more
SavedTables = Mapping[str, Mapping[int, list[bytes]]]


class Tables:
    """By name. What was saved of a table waits here until the table is opened."""

    def __init__(self, owning: Owning, key_types: Callable[[Schema | None], Any]) -> None:
        """`key_types`: the Arrow schema of a table's keys, given what the user says of it."""
        self._owning = owning
        self._key_types = key_types
        self._open: dict[str, KeyTable] = {}
        #: of those that are open: Arrow schema of the keys, types of the values
        self._shapes: dict[str, tuple[Any, Mapping[str, Any]]] = {}
        self._waiting: dict[str, dict[int, list[bytes]]] = {}

    def open(self, name: str, keys: Schema | None, values: Mapping[str, Any]) -> KeyTable:
        """The table of this name, always the same; DefinitionError if it had another form before."""
        pyarrow()
        arrow = self._key_types(keys)
        shape = arrow, value_types(name, arrow, values)
        if name not in self._open:
            table = KeyTable(*shape, self._owning.groups)
            table.owned = self._owning.owned_groups()
            self._load(name, table, self._waiting.get(name, {}))
            self._waiting.pop(name, None)
            self._shapes[name] = shape
            self._open[name] = table
        elif self._shapes[name] != shape:
            was, now = (_written(*each) for each in (self._shapes[name], shape))
            msg = f"table {name!r} was opened with {was}, and now with {now}"
            raise DefinitionError(msg, hint="open it in the same form every time")
        return self._open[name]

    def __len__(self) -> int:
        """Entries of all tables that are open. Safe from any thread."""
        return sum(map(len, list(self._open.values())))

    def use_ownership(self, owning: Owning) -> None:
        self._owning = owning
        for table in self._open.values():
            table.owned = owning.owned_groups()

    def replace(self, groups: Collection[int], saved: SavedTables) -> None:
        """Replace these groups of all tables by what was saved of them."""
        for name in saved:
            if name not in self._open:
                self._waiting.setdefault(name, {})
        for waiting in self._waiting.values():
            for group in groups:
                waiting.pop(group, None)
        for table in self._open.values():
            table.drop_groups(groups)
        for name, found in saved.items():
            if name in self._open:
                self._load(name, self._open[name], found)
            else:
                self._waiting[name].update(found)

    def _load(self, name: str, table: KeyTable, saved: Mapping[int, list[bytes]]) -> None:
        owned, table.owned = table.owned, None  # what has moved away stays until it is dropped
        try:
            for data in chain.from_iterable(saved.values()):
                table.load(data)
        except ValueError as error:
            msg = f"table {name!r} was saved in another form: {error}"
            raise DefinitionError(msg, hint="give the table another name, or open it as it was") from error
        finally:
            table.owned = owned
        table.forget_changes(saved)

    def changed(self) -> set[int]:
        """Groups in which something may have changed since the last snapshot."""
        return {group for table in self._open.values() for group in table.changed_groups()}

    @property
    def unchanged(self) -> bool:
        """Safe from any thread."""
        return not any(table.is_changed for table in list(self._open.values()))

    def freeze(self, groups: Collection[int], *, keep_changes: bool) -> TableImages:
        """These groups of all tables as they are now: numbers are copied, keys never change."""
        frozen = {name: table.frozen() for name, table in self._open.items()}
        if not keep_changes:
            for table in self._open.values():
                table.forget_changes(groups)
        wanted = set(groups)
        waiting = [
            (name, group, data)
            for name, found in self._waiting.items()
            for group, saved in found.items()
            if group in wanted
            for data in saved
        ]
        return TableImages(frozen, waiting, wanted)


class TableImages:
    """Tables that are being encoded, some entries at a time."""

    def __init__(
        self,
        frozen: Mapping[str, FrozenTable],
        waiting: list[tuple[str, int, bytes]],
        groups: Collection[int],
    ) -> None:
        self._left = self._encoded(frozen, waiting, groups)

    def next_chunk(self) -> list[tuple[int, bytes]] | None:
        """Groups, each with entries of it as a chunk; none if a step has found none, None at the end."""
        return next(self._left, None)

    @staticmethod
    def _encoded(
        frozen: Mapping[str, FrozenTable], waiting: list[tuple[str, int, bytes]], groups: Collection[int]
    ) -> Iterator[list[tuple[int, bytes]]]:
        for begin in range(0, len(waiting), _GROUPS):
            some = waiting[begin : begin + _GROUPS]
            yield [(group, encode_table(name, data)) for name, group, data in some]
        for name, table in frozen.items():
            for found in table.parts(groups):
                yield [(group, encode_table(name, part.to_bytes())) for group, part in found]


def _written(keys: Any, values: Mapping[str, Any]) -> str:
    columns = [*((key.name, key.type) for key in keys), *values.items()]
    return ", ".join(f"{name} ({kind})" for name, kind in columns)
