"""A source that never ends and gives nothing: for what is refused before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heronpy.connectors import Chunk, Reader, Source


class EndlessSource(Source[str]):
    """Strings, in principle."""

    name = "endless"
    bounded = False

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Reader[str]:
        return _Quiet()


class _Quiet(Reader[str]):
    def assign(self, positions: Mapping[str, Any]) -> None:
        pass

    def poll(self, most: int) -> Chunk[str] | None:
        return None
