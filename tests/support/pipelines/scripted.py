"""A source whose chunks are written down, one for each poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heronpy.connectors import Chunk, Reader, Source


class ScriptedSource(Source[Any]):
    """Gives (split, values) in this order; a split ends with its last values."""

    name = "scripted"

    def __init__(self, *chunks: tuple[str, Sequence[Any]], watermarks: Sequence[int | None] = ()) -> None:
        self.chunks, self.watermarks = chunks, watermarks or [None] * len(chunks)

    def splits(self) -> Sequence[str]:
        return sorted({split for split, _ in self.chunks})

    def open(self) -> Reader[Any]:
        return _Scripted(self)


class _Scripted(Reader[Any]):
    def __init__(self, source: ScriptedSource) -> None:
        last = {split: number for number, (split, _) in enumerate(source.chunks)}
        self._chunks = [
            Chunk(split, list(values), number, watermark=watermark, ended=last[split] == number)
            for number, ((split, values), watermark) in enumerate(
                zip(source.chunks, source.watermarks, strict=True)
            )
        ]

    def assign(self, positions: Mapping[str, Any]) -> None:
        pass

    def poll(self, most: int) -> Chunk[Any] | None:
        return self._chunks.pop(0) if self._chunks else None
