"""A state tree as on another machine: it can be out of reach, and can take its clients for dead."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import override

from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin.state_manager import Node, Watch
from heronpy.plugins.state.localfs.manager import LocalFsStateManager


class DistantState(LocalFsStateManager):
    """localfs behind a network that fails when it is told to."""

    out_of_reach = False
    sessions = 0
    _callbacks: tuple[Callable[[], None], ...] = ()

    @property
    @override
    def session(self) -> int:
        return self.sessions

    def come_back(self, *, lost: str = "") -> None:
        """In reach again: all watches are told. Perhaps too late for the session that owned this node."""
        self.out_of_reach = False
        if lost:
            self.sessions += 1
            self.delete(lost)
        for callback in self._callbacks:
            callback()

    def _reach(self) -> None:
        if self.out_of_reach:
            msg = "out of reach"
            raise StateError(msg)

    @override
    def get(self, path: str) -> Node:
        self._reach()
        return super().get(path)

    @override
    def create(self, path: str, value: bytes, *, ephemeral: bool = False) -> int:
        self._reach()
        return super().create(path, value, ephemeral=ephemeral)

    @override
    def set(self, path: str, value: bytes, *, version: int | None = None) -> int:
        self._reach()
        return super().set(path, value, version=version)

    @override
    def delete(self, path: str, *, recursive: bool = False) -> None:
        self._reach()
        super().delete(path, recursive=recursive)

    @override
    def children(self, path: str) -> list[str]:
        self._reach()
        return super().children(path)

    @override
    def watch(self, path: str, callback: Callable[[], None]) -> Watch:
        self._reach()
        self._callbacks += (callback,)
        return super().watch(path, callback)
