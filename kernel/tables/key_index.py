"""Places of keys: the first key that came is at 0, the next one at 1, and so on.

Two keys are one exactly if keys.py encodes them alike. Compiled where the installation had a compiler;
otherwise a dict.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Protocol

from xxhash import xxh3_64_intdigest

from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.canonical_columns import CanonicalColumn
from heronpy.kernel.flow.column_keys import described, encoded_rows

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt

#: keys, and bytes of keys, that an empty index has room for
_ROOM = 1_024
_POOL = 16_384


class KeyIndex(Protocol):
    """What a table looks its keys up in."""

    def __len__(self) -> int: ...

    def find(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        """The place of each row's key; -1 for one that is not there."""

    def enlist(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        """The same, where keys that are not there are added in the order of the rows."""

    def hashes(self, begin: int) -> npt.NDArray[np.uint64]:
        """By place, from this one on; a key's group is the remainder of its hash."""

    def truncate(self, size: int) -> None:
        """Only the first so many, without those that were added last."""

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Only these places, which are numbered anew in their order."""


def make_index() -> KeyIndex:
    return _DictIndex() if compiled.columns is None else _CompiledIndex(compiled.columns)


class _DictIndex:
    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def find(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        import numpy as np

        return np.array([self._places.get(key, -1) for key in encoded_rows(columns)], np.int64)

    def enlist(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        import numpy as np

        places = self._places
        return np.array([places.setdefault(key, len(places)) for key in encoded_rows(columns)], np.int64)

    def hashes(self, begin: int) -> npt.NDArray[np.uint64]:
        import numpy as np

        newest = itertools.islice(reversed(self._places), len(self._places) - begin)
        return np.array([xxh3_64_intdigest(key) for key in newest][::-1], np.uint64)

    def truncate(self, size: int) -> None:
        while len(self._places) > size:
            self._places.popitem()

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        keys = itertools.compress(self._places, kept.tolist())
        self._places = {key: place for place, key in enumerate(keys)}


class _CompiledIndex:
    def __init__(self, module: ModuleType) -> None:
        import numpy as np

        self._module = module
        self._used = 0
        #: part of the hash of a key and its place, by the leading bits of its hash; half of them are free
        self._homes = np.zeros(2 * _ROOM, np.uint64)
        self._hashes = np.empty(_ROOM, np.uint64)
        #: where the bytes of a key end in the pool
        self._ends = np.empty(_ROOM, np.int64)
        self._pool = np.empty(_POOL, np.uint8)

    def __len__(self) -> int:
        return self._used

    def find(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        return self._look_up(columns, adds=False)

    def enlist(self, columns: list[CanonicalColumn]) -> npt.NDArray[np.int64]:
        return self._look_up(columns, adds=True)

    def hashes(self, begin: int) -> npt.NDArray[np.uint64]:
        return self._hashes[begin : self._used]

    def truncate(self, size: int) -> None:
        self._used = size
        self._homes[:] = 0  # in place: nothing in here can fail
        self._module.settle(size, self._homes, self._hashes)

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        import numpy as np

        sizes = np.diff(self._ends[: self._used], prepend=0)
        pool = self._pool[: sizes.sum()][np.repeat(kept, sizes)]
        used = int(np.count_nonzero(kept))
        room = max(_ROOM, 1 << max(used - 1, 0).bit_length())
        hashes = _lengthened(self._hashes[: self._used][kept], room)
        ends = _lengthened(np.cumsum(sizes[kept]), room)
        homes = self._settled(used, hashes, 2 * room)
        pool = _lengthened(pool, max(_POOL, len(pool)))
        self._used, self._homes, self._hashes, self._ends, self._pool = used, homes, hashes, ends, pool

    def _look_up(self, columns: list[CanonicalColumn], *, adds: bool) -> npt.NDArray[np.int64]:
        import numpy as np

        keys = tuple(map(described, columns))
        row, rows = 0, len(columns[0].values)
        found = np.empty(rows, np.int64)
        before = self._used
        try:
            while True:
                index = (self._used, self._homes, self._hashes, self._ends, self._pool)
                row, self._used = self._module.places(keys, row, rows, adds, *index, found)
                if row == rows:
                    return found
                self._grow()
        except BaseException:  # a damaged column, or no memory
            self.truncate(before)
            raise

    def _grow(self) -> None:
        """Twice the room, of keys or of their bytes, whichever is used up."""
        if self._used < len(self._hashes):
            self._pool = _lengthened(self._pool, 2 * len(self._pool))
            return
        room = 2 * len(self._hashes)
        hashes, ends = _lengthened(self._hashes, room), _lengthened(self._ends, room)
        self._homes = self._settled(self._used, hashes, 2 * room)
        self._hashes, self._ends = hashes, ends

    def _settled(self, used: int, hashes: npt.NDArray[np.uint64], homes: int) -> npt.NDArray[np.uint64]:
        """So many homes, with the first keys of these hashes."""
        import numpy as np

        found = np.zeros(homes, np.uint64)
        self._module.settle(used, found, hashes)
        return found


def _lengthened(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """A copy with room for more, in which anything may lie."""
    import numpy as np

    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
