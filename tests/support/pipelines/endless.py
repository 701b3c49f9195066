"""A source that never ends and gives nothing: for what is refused before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Endless:
    """Strings, in principle."""

    bounded = False

    def check(self) -> None:
        pass

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Quiet:
        return Quiet()


class Quiet:
    """Has nothing now, and has not ended."""

    def assign(self, positions: Mapping[str, Any]) -> None:
        pass

    def poll(self, most: int) -> Nothing | None:
        return None

    def close(self) -> None:
        pass


class Nothing:
    """Of what type the records would be."""

    records: Sequence[str] = ()
    split = "0"
    ended = False
