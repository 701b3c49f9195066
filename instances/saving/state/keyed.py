"""The mapping that a task gets as its keyed state: a plain dict, until changes have to be tracked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from heronpy.column_schema import Schema
from heronpy.instances.output.codec import SCALARS
from heronpy.instances.saving.state.encoding import Early, encode_chunk, one_line, settled
from heronpy.instances.saving.state.key_roster import KeyRoster
from heronpy.instances.saving.state.ownership import Owning
from heronpy.instances.saving.state.state_tables import SavedTables, Tables
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.tables.key_table import KeyTable
from heronpy.state import HashMapState

#: keys that are encoded at a time
CHUNK: Final = 4096
#: changed keys per group that are tracked one by one; with more of them nearly every group has changed
_CHANGES_PER_GROUP: Final = 4


class _Absent:
    """Stands for the value of a key that was not there."""


class KeyedState(HashMapState):
    """State in memory whose keys are those of the fields grouping, or the splits of a spout.

    A key that is in it is owned, and equal keys are in one group. So only a key that is not in it is checked,
    and most tuples pay nothing for that. The subclasses cost more: the state is one of them only while
    changes are tracked or a snapshot is being encoded.
    """

    def __init__(self, roster: KeyRoster, tables: Tables) -> None:
        super().__init__()
        self._roster = roster
        self._tables = tables
        self._admit = roster.owning.admit
        #: keys that were set, deleted or handed out to be changed; None stands for all
        self._changed: set[Any] | None = None
        self._image: Image | None = None

    def table(self, name: str, /, *, keys: Schema | None = None, **values: Any) -> KeyTable:
        return self._tables.open(name, keys, values)

    def get(self, key: Any, default: Any = None) -> Any:
        values = self._dict
        if key in values:
            return values[key]
        self._admit(key)
        return default

    def put(self, key: Any, value: Any) -> None:
        self[key] = value

    def clear(self) -> None:
        self._dict.clear()
        self._roster.clear()

    def __getitem__(self, key: Any) -> Any:
        values = self._dict
        if key in values:
            return values[key]
        self._admit(key)
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        values = self._dict
        if key not in values:
            self._roster.enlist(key, values)
        values[key] = value

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        del self._dict[key]

    def __contains__(self, key: object) -> bool:
        if key in self._dict:
            return True
        self._admit(key)
        return False


class CountedState(KeyedState):
    """Tracks changed keys up to a limit. Valid only while the values of all other keys are immutable."""

    _changed: set[Any]

    def __setitem__(self, key: Any, value: Any) -> None:
        values = self._dict
        if key not in values:
            self._roster.enlist(key, values)
        if key not in self._changed:
            _count(self, key)
        values[key] = value

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        _count(self, key)

    def popitem(self) -> tuple[Any, Any]:
        key, value = super().popitem()
        _count(self, key)
        return key, value

    def clear(self) -> None:
        super().clear()
        _count_all(self)


class WatchedState(CountedState):
    """A mutable value counts as changed when it is handed out."""

    def get(self, key: Any, default: Any = None) -> Any:
        values = self._dict
        if key in values:
            value = values[key]
            if type(value) not in SCALARS and key not in self._changed:
                _count(self, key)
            return value
        self._admit(key)
        return default

    def __getitem__(self, key: Any) -> Any:
        values = self._dict
        if key in values:
            value = values[key]
            if type(value) not in SCALARS and key not in self._changed:
                _count(self, key)
            return value
        self._admit(key)
        raise KeyError(key)


class FrozenState(KeyedState):
    """While a snapshot is being encoded: an entry is noted in its image before it changes."""

    _image: Image

    def get(self, key: Any, default: Any = None) -> Any:
        values = self._dict
        if key in values:
            value = values[key]
            if type(value) not in SCALARS:
                self._image.keep(key, value)
            return value
        self._admit(key)
        return default

    def __getitem__(self, key: Any) -> Any:
        values = self._dict
        if key in values:
            value = values[key]
            if type(value) not in SCALARS:
                self._image.keep(key, value)
            return value
        self._admit(key)
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        values, image = self._dict, self._image
        if key not in values:
            self._roster.enlist(key, values)
        if key not in image.before:
            image.before[key] = image.values.get(key, _Absent)
        values[key] = value

    def __delitem__(self, key: Any) -> None:
        image = self._image
        if key in self and key not in image.before:
            image.before[key] = image.values.get(key, _Absent)
        super().__delitem__(key)

    def popitem(self) -> tuple[Any, Any]:
        key, value = super().popitem()
        self._image.keep(key, value)
        self._image.before.setdefault(key, value)
        return key, value

    def clear(self) -> None:
        # The image continues to read the old dict.
        self._dict = {}
        self._roster.clear()
        self._image.earlier_changes = None


class Image:
    """The groups of a state as they were when it was taken, though the state goes on changing.

    Nothing is copied: the values are read from the live dict, except for keys that have changed since.

    The obvious alternatives fail: encoding the state at the barrier stops the task for as long as the state
    is large, a deep copy does the same, and a shallow copy still shares the mutable values. Taking an image
    costs one step per group, and the encoding goes on in chunks between two frames. In exchange a key pays
    once, when it is first changed, or its mutable value handed out, while the image exists: the old value is
    noted in `before`. A mutable value is encoded at that moment (`Early`), because the reference that the
    user's code gets is enough to change it unseen.
    """

    def __init__(
        self,
        state: KeyedState,
        groups: Collection[int],
        earlier_changes: set[Any] | None,
        *,
        keep_changes: bool,
    ) -> None:
        self._state = state
        #: keys that count as changed when the image is gone, besides those in `before`
        self.earlier_changes = earlier_changes
        self.values = state._dict
        #: key → its value when the image was taken, for keys that have been touched since
        self.before: dict[Any, Any] = {}
        #: why the image is unusable; empty while it is valid
        self.error = ""
        #: group → its keys, and how many of those are still to be encoded
        self._left: dict[int, tuple[list[Any], int]] = {}
        for group in groups:
            keys = state._roster.keys(group)
            if keys:
                self._left[group] = (keys, len(keys))
                state._roster.changeable.add(group)
        self._settled = set(self._left)
        self._tables = state._tables.freeze(list(groups), keep_changes=keep_changes)

    def keep(self, key: Any, value: Any) -> None:
        """Note the value of a key, before the user's code gets a reference that can change it in place."""
        before = self.before
        if key in before or settled(value):
            return
        before[key] = value
        if self._state._roster.owning.group_of(key) not in self._left:
            return
        try:
            before[key] = Early(value)
        except Exception as error:  # the user's own __reduce__ runs in there
            self.error = self.error or one_line(error)

    def next_chunks(self) -> list[tuple[int, bytes]] | None:
        """Encode some more keys of a group, the newest first, or entries of tables; None at the end."""
        if self.error:
            raise TopologyError(self.error)
        if not self._left:
            return self._tables.next_chunk()
        group = next(iter(self._left))
        keys, end = self._left[group]
        start = max(0, end - CHUNK)
        items = self._items(keys[start:end])
        if not _all_settled(items):
            self._settled.discard(group)
        if start:
            self._left[group] = keys, start
        else:
            del self._left[group]
            if group in self._settled:
                self._state._roster.changeable.discard(group)
        return [(group, encode_chunk(items) if items else b"")]

    def release(self) -> None:
        """Detach the image from the state, which tracks changes from now on."""
        state = self._state
        if state._image is not self:
            return
        state._image = None
        if self.earlier_changes is None or len(self.before) > _limit(state):
            _count_all(state)
        else:
            count_changes(state, self.earlier_changes.union(self.before))

    def give_up(self, reason: str) -> None:
        """Detach the image before everything is encoded; it is unusable then."""
        self.error = self.error or reason
        self.release()

    def _items(self, keys: list[Any]) -> dict[Any, Any]:
        """Of equal keys the last one was in the dict."""
        before, values, items = self.before, self.values, {}
        for key in reversed(keys):
            value = before[key] if key in before else values.get(key, _Absent)
            if value is not _Absent:
                items[key] = value
        return items


def take_image(state: KeyedState, groups: Iterable[int], *, keep_changes: bool) -> Image:
    """Freeze some groups. Changes are tracked from here on; `keep_changes` adds those tracked so far."""
    earlier = state._changed if keep_changes else set()
    image = Image(state, list(groups), earlier, keep_changes=keep_changes)
    state._image = image
    state.__class__ = FrozenState
    return image


def changed_groups(state: KeyedState) -> set[int] | None:
    """Groups in which something may have changed since tracking began; None for all."""
    if state._image is not None:
        state._image.give_up("another snapshot was begun before it was stored")
    if state._changed is None:
        return None
    return set(map(state._roster.owning.group_of, state._changed)) | state._tables.changed()


def is_unchanged(state: KeyedState) -> bool:
    """Whether nothing has changed since tracking began. Safe from any thread."""
    return state._changed is not None and not state._changed and state._tables.unchanged


def use_ownership(state: KeyedState, owning: Owning) -> None:
    """Accept the keys of another ownership from here on. Present entries stay."""
    state._roster.owning = owning
    state._admit = owning.admit
    state._tables.use_ownership(owning)


def put_group(state: KeyedState, group: int, items: Mapping[Any, Any]) -> None:
    """Replace a group as a whole. A snapshot in progress is abandoned."""
    if state._image is not None:
        state._image.give_up("the state was replaced by another meanwhile")
    values = state._dict
    for key in state._roster.keys(group):
        values.pop(key, None)
    values.update(items)
    state._roster.replace(group, items)
    if _all_settled(items):
        state._roster.changeable.discard(group)
    else:
        state._roster.changeable.add(group)


def put_tables(state: KeyedState, groups: Collection[int], saved: SavedTables) -> None:
    """Replace these groups of all tables. A snapshot in progress has copies, and goes on."""
    state._tables.replace(groups, saved)


def entries(state: KeyedState) -> int:
    """Of the mapping and of all tables."""
    return len(state) + len(state._tables)


def count_changes(state: KeyedState, changed: set[Any]) -> None:
    """Track the keys that change from here on, in addition to `changed`."""
    if len(changed) > _limit(state):
        _count_all(state)
    else:
        state._changed = changed
        state.__class__ = WatchedState if state._roster.changeable else CountedState


def _all_settled(items: Mapping[Any, Any]) -> bool:
    return set(map(type, items.values())) <= SCALARS


def _count(state: KeyedState, key: Any) -> None:
    assert state._changed is not None
    state._changed.add(key)
    if len(state._changed) > _limit(state):
        _count_all(state)


def _count_all(state: KeyedState) -> None:
    state._changed = None
    state.__class__ = KeyedState


def _limit(state: KeyedState) -> int:
    return _CHANGES_PER_GROUP * state._roster.owning.groups
