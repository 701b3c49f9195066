"""What a disk must still have after a power cut, worked out from the journal that synced.c keeps."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

#: what a disk writes as a whole
BLOCK = 512


class Entry(NamedTuple):
    """A name in a folder leads to it."""

    key: str
    #: d, f or l: a folder, a file or a link
    kind: str
    mode: int
    target: str = ""


class Move(NamedTuple):
    """A rename between two folders: a disk has all of it or nothing."""

    source: str
    old: str
    target: str
    new: str
    entry: Entry


class SyncedState:
    """Folders and files by their keys, as far as somebody has synced them."""

    def __init__(self, blobs: Path) -> None:
        self._blobs = blobs
        self._folders: dict[str, dict[str, Entry]] = {}
        self._contents: dict[str, bytes] = {}
        #: those of which neither folder has been synced since
        self._moves: list[Move] = []

    def replay(self, lines: Iterable[str]) -> None:
        for line in lines:
            kind, *fields = line.split("\t")
            match kind:
                case "F":
                    self._contents[fields[0]] = self._content(fields[1])
                case "D":
                    self._sync_folder(fields[0], _entries(fields[2:]))
                case "R":
                    source, old, target, new, key, what, mode = fields
                    if source != target:
                        self._moves.append(Move(source, old, target, new, Entry(key, what, int(mode, 8))))

    def replay_some(self, lines: list[str], dice: random.Random) -> None:
        """Of what was not synced a part has come to the disk by itself: as a whole, or some blocks of it."""
        for line in dice.sample(lines, len(lines)):
            fields = line.split("\t")
            if dice.random() < 0.5:
                self.replay([line])
            elif fields[0] == "F":
                written, before = self._content(fields[2]), self._contents.get(fields[1], b"")
                if written != before:
                    self._contents[fields[1]] = _torn(written, dice)

    def build(self, key: str, folder: Path) -> None:
        """Make what the folder has."""
        for name, entry in self._folders.get(key, {}).items():
            path = folder / name
            match entry.kind:
                case "d":
                    path.mkdir()
                    self.build(entry.key, path)
                    path.chmod(entry.mode)
                case "f":
                    path.write_bytes(self._contents.get(entry.key, b""))
                    path.chmod(entry.mode)
                case "l":
                    path.symlink_to(entry.target)

    def _sync_folder(self, key: str, entries: dict[str, Entry]) -> None:
        self._folders[key] = entries
        waiting = []
        for move in self._moves:
            if move.source == key:
                self._folders.setdefault(move.target, {})[move.new] = move.entry
            elif move.target == key:
                before = self._folders.get(move.source, {})
                if move.old in before and before[move.old].key == move.entry.key:
                    del before[move.old]
            else:
                waiting.append(move)
        self._moves = waiting

    def _content(self, blob: str) -> bytes:
        return (self._blobs / blob).read_bytes()


def _entries(fields: list[str]) -> dict[str, Entry]:
    found = {}
    for name, key, kind, mode, target in zip(*[iter(fields)] * 5, strict=True):
        found[name] = Entry(key, kind, int(mode, 8), target)
    return found


def _torn(data: bytes, dice: random.Random) -> bytes:
    """Its length is there, and only the first of its blocks."""
    kept = BLOCK * dice.randrange(len(data) // BLOCK + 1)
    return data[:kept] + bytes(len(data) - kept)
