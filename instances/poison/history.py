"""Which tuples the tasks of a component died on, and how often in a row; for its tasks on one machine."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from heronpy.kernel.machine.private import private

#: tuples that are remembered of a component; beyond it the oldest is forgotten
MOST: Final = 256


class History(msgspec.Struct, frozen=True):
    """Digests are in hexadecimal."""

    #: tuple → deaths since it was last processed without one
    deaths: dict[str, int] = {}
    #: whether the last death is of a tuple that is not known
    unnamed: bool = False
    #: the tuple that was refused last, in words
    shown: str = ""

    def after_death(self, digest: bytes) -> History:
        """A task has died on the tuple; an empty digest means that it is not known which it was.

        A death of before the task was careful is counted with the next tuple that it dies on.
        """
        if not digest:
            return msgspec.structs.replace(self, unnamed=True)
        name = digest.hex()
        known = self.deaths.get(name, int(self.unnamed))
        others = {other: count for other, count in self.deaths.items() if other != name}
        newest = list(others.items())[-(MOST - 1) :]
        return msgspec.structs.replace(self, deaths={**dict(newest), name: known + 1}, unnamed=False)

    def after_success(self, digest: bytes) -> History:
        deaths = {other: count for other, count in self.deaths.items() if other != digest.hex()}
        return msgspec.structs.replace(self, deaths=deaths)

    def after_refusal(self, shown: str) -> History:
        return msgspec.structs.replace(self, shown=shown)


class HistoryFile:
    """Changed by one process at a time, and never half written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> History:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=History)
        except (FileNotFoundError, msgspec.DecodeError):
            return History()

    def change(self, how: Callable[[History], History]) -> History:
        with open(self._path.with_suffix(".lock"), "ab", opener=private) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            changed = how(self.read())
            draft = self._path.with_suffix(".new")
            with open(draft, "wb", opener=private) as file:
                file.write(msgspec.json.encode(changed))
            draft.replace(self._path)
            return changed
