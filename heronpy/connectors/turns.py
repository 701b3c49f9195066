"""Readers whose splits are read one chunk each in turn."""

from __future__ import annotations

import abc
import sys
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeVar

from heronpy.connectors.source import Chunk, Reader

T_co = TypeVar("T_co", covariant=True)


class SplitReader(abc.ABC, Generic[T_co]):
    """One split, opened at a position."""

    @abc.abstractmethod
    def read(self, most: int) -> Chunk[T_co] | None:
        """The next records; None if there are none now. Not called again after a chunk that has ended."""

    def close(self) -> None:
        """Let go of files."""


class _Ended(SplitReader[Any]):
    """A split that had ended when the reader was assigned anew: it says so again."""

    def __init__(self, split: str, position: Any) -> None:
        self._split, self._position = split, position

    def read(self, most: int) -> Chunk[Any]:  # noqa: ARG002 - has nothing
        return Chunk(self._split, [], self._position, ended=True)


class TurnReader(Reader[T_co]):
    """Base of readers that handle each split apart: a subclass says how one is opened.

    Of a bounded source with many splits, `at_once` take turns and the others follow: thousands of files are
    not open at the same time. Splits that never end must all be open.
    """

    def __init__(self, at_once: int = sys.maxsize) -> None:
        self._at_once = at_once
        self._waiting: deque[tuple[str, Any]] = deque()
        self._turns: deque[tuple[str, SplitReader[T_co]]] = deque()
        #: split → the position behind what it has given; also of those that have ended
        self._behind: dict[str, Any] = {}
        #: splits that had nothing at the last poll
        self._silent: list[str] = []

    @abc.abstractmethod
    def open_split(self, split: str, position: Any) -> SplitReader[T_co]:
        """A split from a position; None is its beginning."""

    def assign(self, positions: Mapping[str, Any]) -> None:
        """Splits that stay go on as they are: what is not in its position, a split reader may yet know."""
        stays = {
            split
            for split, position in positions.items()
            if split in self._behind and self._behind[split] == position
        }
        kept = [(split, reader) for split, reader in self._turns if split in stays]
        ended = stays - {split for split, _ in self._turns}
        self._turns = deque(turn for turn in self._turns if turn[0] not in stays)
        self.close()
        self._turns.extend(kept)
        self._turns.extend((split, _Ended(split, positions[split])) for split in positions if split in ended)
        self._behind = {split: positions[split] for split in stays}
        self._waiting.extend((split, at) for split, at in positions.items() if split not in stays)

    def poll(self, most: int) -> Chunk[T_co] | None:
        while self._waiting and len(self._turns) < self._at_once:
            split, position = self._waiting.popleft()
            self._turns.append((split, self.open_split(split, position)))
            self._behind[split] = position
        self._silent = []
        for _ in range(len(self._turns)):
            split, reader = self._turns[0]
            chunk = reader.read(most)
            if chunk is not None and chunk.ended:
                self._turns.popleft()
                reader.close()
            else:
                self._turns.rotate(-1)
            if chunk is not None:
                self._behind[split] = chunk.position
                return chunk
            self._silent.append(split)
        return None

    def silent(self) -> Collection[str]:
        return self._silent

    def close(self) -> None:
        self._waiting.clear()
        self._behind.clear()
        self._silent = []
        while self._turns:
            self._turns.pop()[1].close()
