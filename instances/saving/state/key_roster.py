"""Which keys are in which group, so that a group can be saved or moved without reading the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heronpy.instances.saving.state.ownership import Owning

#: keys in a group's list before it is looked through for those that are gone
_SMALL = 64


class KeyRoster:
    """A list of keys per group. It learns of new keys only: deleted ones stay until there are many.

    A key that was deleted and set again is in its list twice; the last of equal ones is the one in the dict.
    Lists only grow at their end or are replaced, so a list together with its length is a snapshot.
    """

    def __init__(self, owning: Owning) -> None:
        self.owning = owning
        self._keys: list[list[Any]] = [[] for _ in range(owning.groups)]
        self._limits = [_SMALL] * owning.groups
        #: groups that were last saved or restored with values that can be changed in place
        self.changeable: set[int] = set()

    def enlist(self, key: Any, values: Mapping[Any, Any]) -> None:
        """Note a key that is about to be in `values`; KeyNotOwned if it may not."""
        group = self.owning.admit(key)
        keys = self._keys[group]
        keys.append(key)
        if len(keys) > self._limits[group]:
            self._compact(group, values)

    def keys(self, group: int) -> list[Any]:
        """The group's list, with what has been deleted and doubles in it. Not to be changed."""
        return self._keys[group]

    def replace(self, group: int, keys: Iterable[Any]) -> None:
        kept = self._keys[group] = list(keys)
        self._limits[group] = max(_SMALL, 2 * len(kept))

    def clear(self) -> None:
        self._keys = [[] for _ in self._keys]
        self._limits = [_SMALL] * len(self._limits)

    def _compact(self, group: int, values: Mapping[Any, Any]) -> None:
        *older, newest = self._keys[group]
        live = dict.fromkeys(key for key in reversed(older) if key in values)
        self.replace(group, [*reversed(live), newest])
