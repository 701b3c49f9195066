"""Nodes of the state tree that processes publish of themselves, and follow of one another."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from heronpy.kernel.errors import NodeExists, NodeMissing, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager, Watch
from heronpy.kernel.transport import Reactor
from heronpy.kernel.tree import Registration, Tree

log = logging.getLogger(__name__)

T = TypeVar("T")

#: seconds until we read again what could not be read
READ_AGAIN = 1.0


class Follower:
    """Calls `on_change` in the reactor's thread after any followed node has changed; it reads again."""

    def __init__(self, state: StateManager, reactor: Reactor, on_change: Callable[[], None]) -> None:
        self._state = state
        self._reactor = reactor
        self._on_change = on_change
        self._watches: dict[str, Watch] = {}
        self._pending = False

    def follow(self, *paths: str) -> None:
        """Follow these nodes as well; they need not exist."""
        for path in paths:
            if path not in self._watches:
                self._watches[path] = self._state.watch(path, self._notify)

    def leave(self, *paths: str) -> None:
        """Follow these no longer."""
        for path in paths:
            watch = self._watches.pop(path, None)
            if watch is not None:
                watch.cancel()

    def close(self) -> None:
        for watch in self._watches.values():
            watch.cancel()

    def _notify(self) -> None:
        # Many nodes change at once when a topology starts: one call for all of them.
        if not self._pending:
            self._pending = True
            self._reactor.call_from_thread(self._call)

    def _call(self) -> None:
        self._pending = False
        try:
            self._on_change()
        except (NodeMissing, NodeExists, VersionConflict):
            raise
        except StateError as error:
            # what we know goes on being true for us until we can read
            log.warning("could not follow the state tree: %s", error)
            self._pending = True
            self._reactor.call_later(READ_AGAIN, self._call)


def read(state: StateManager, path: str, kind: type[T]) -> T | None:
    """The decoded node, or None when it is not there."""
    try:
        return msgspec.json.decode(state.get(path).value, type=kind)
    except NodeMissing:
        return None


def register(state: StateManager, path: str, registration: Registration) -> bool:
    """Publish ourselves; False when somebody has taken our place: a late word must not hide a successor's."""
    value = msgspec.json.encode(registration)
    while True:
        try:
            node = state.get(path)
            if msgspec.json.decode(node.value, type=Registration).incarnation > registration.incarnation:
                return False
            state.set(path, value, version=node.version)
        except NodeMissing:
            try:
                state.create(path, value)
            except NodeExists:
                continue
        except VersionConflict:
            continue
        return True


def client_keys(state: StateManager, tree: Tree) -> list[str]:
    """The public keys of those who ask a topology something just now, as `heronpy status` does."""
    found = (read(state, f"{tree.clients}/{name}", Registration) for name in state.children(tree.clients))
    return [registration.public_key for registration in found if registration is not None]
