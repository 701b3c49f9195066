"""Nodes that only the newest Topology Master writes: by compare-and-set, never over a successor."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import HeronError, NodeExists, NodeMissing, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.update import Update

T = TypeVar("T", bound=Checkpoints | Update)


class Replaced(HeronError):
    """Another master has this topology: stop at once, and write nothing more."""


class Changed(HeronError):
    """Somebody else has written first: decide again from what is there now."""


class OwnedNode(Generic[T]):
    """One node, as last read or written by us."""

    def __init__(self, state: StateManager, path: str, kind: type[T], master: int) -> None:
        self._state = state
        self._path = path
        self._kind: type[T] = kind
        self._master = master
        self._version: int | None = None
        self.value: T | None = None

    def read(self) -> T | None:
        """What is there now; Replaced when a later master has written it."""
        try:
            node = self._state.get(self._path)
        except NodeMissing:
            self._version, self.value = None, None
            return None
        value = msgspec.json.decode(node.value, type=self._kind)
        if value.master > self._master:
            msg = f"{self._path} was written by master {value.master}; this is {self._master}"
            raise Replaced(msg)
        self._version, self.value = node.version, value
        return value

    def write(self, value: T) -> T:
        """Put the next value there, on top of the one that was read; Changed when that is not there now."""
        number = self.value.number + 1 if self.value is not None else 1
        value = msgspec.structs.replace(value, number=number, master=self._master)
        try:
            if self._version is None:
                self._version = self._state.create(self._path, value.to_json())
            else:
                self._version = self._state.set(self._path, value.to_json(), version=self._version)
        except (VersionConflict, NodeExists, NodeMissing) as error:
            self.read()
            msg = f"{self._path} has changed"
            raise Changed(msg) from error
        self.value = value
        return value
