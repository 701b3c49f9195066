"""Nodes that only the newest Topology Master writes: by compare-and-set, never over a successor."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import DamagedNode, HeronError, NodeExists, NodeMissing, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree.mending import mend
from heronpy.kernel.tree.registrations import read_version
from heronpy.kernel.tree.update import Update

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Checkpoints | Update)


class Replaced(HeronError):
    """Another master has this topology: stop at once, and write nothing more."""


class Changed(HeronError):
    """Another process has written first: decide again from what is there now."""


class FencedNode(Generic[T]):
    """One node, as last read or written by us."""

    def __init__(
        self,
        state: StateManager,
        path: str,
        kind: type[T],
        master: int,
        on_mended: Callable[[DamagedNode], None],
    ) -> None:
        self._on_mended = on_mended
        self._state = state
        self._path = path
        self._kind: type[T] = kind
        self._master = master
        self._version: int | None = None
        #: whether it was looked for, and what has been there since is known
        self._read = False
        self.value: T | None = None

    def read(self) -> T | None:
        """What is there now; Replaced when a later master has written it.

        What is damaged is written again as it is known; what others have asked for meanwhile they have to ask
        for again. DamagedNode when it is not known what was there.
        """
        try:
            found = read_version(self._state, self._path, self._kind)
        except DamagedNode as damage:
            if not self._is_known():
                raise
            return self._mend(damage)
        self._read = True
        if found is None:
            self._version, self.value = None, None
            return None
        value, version = found
        if value.master > self._master:
            msg = f"{self._path} was written by master {value.master}; this is {self._master}"
            raise Replaced(msg)
        self._version, self.value = version, value
        return value

    def _is_known(self) -> bool:
        """Whether no other process can have written another value: only the master writes `checkpoints`."""
        if isinstance(self.value, Checkpoints):
            return self.value.master == self._master
        return self._read

    def rebuild(self, damage: DamagedNode, value: T) -> T:
        """Put a value there that was found out elsewhere, in place of a damaged one; Changed if it is not."""
        value = msgspec.structs.replace(value, master=self._master)
        try:
            self._version = mend(self._state, damage, value.to_json())
        except VersionConflict as error:
            msg = f"{self._path} has changed"
            raise Changed(msg) from error
        self._read, self.value = True, value
        return value

    def _mend(self, damage: DamagedNode) -> T | None:
        log.error("%s; it is written again as this master knows it", damage)
        if self.value is None:
            self._state.delete(self._path)
        else:
            self._version = mend(self._state, damage, self.value.to_json())
        self._on_mended(damage)
        return self.value

    def write(self, value: T) -> T:
        """Put the next value there, on top of the one that was read; Changed when that is not there now."""
        number = self.value.number + 1 if self.value is not None else 1
        value = msgspec.structs.replace(value, number=number, master=self._master)
        try:
            if self._version is None:
                self._version = self._state.create(self._path, value.to_json())
            else:
                self._version = self._state.set(self._path, value.to_json(), version=self._version)
        except (VersionConflict, NodeExists, NodeMissing, DamagedNode) as error:
            self.read()
            msg = f"{self._path} has changed"
            raise Changed(msg) from error
        self.value = value
        return value
