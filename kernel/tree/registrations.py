"""Nodes of the state tree in which processes publish themselves and follow each other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from heronpy.kernel.errors import (
    DamagedNode,
    NodeExists,
    NodeMissing,
    OtherFormat,
    StateError,
    VersionConflict,
)
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin.state_manager import StateManager, Watch
from heronpy.kernel.transport import Reactor
from heronpy.kernel.tree.paths import Registration, Tree

log = logging.getLogger(__name__)

T = TypeVar("T")

#: seconds until a failed read is retried
READ_AGAIN = 1.0


class NodeFollower:
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

    def look(self) -> None:
        """Read for the first time, as after a change: again and again until all can be read."""
        self._pending = True
        self._call()

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
            # what was read last stays valid until the next read succeeds
            log.warning("could not follow the state tree: %s", error)
            self._pending = True
            self._reactor.call_later(READ_AGAIN, self._call)


def read(state: StateManager, path: str, kind: type[T]) -> T | None:
    """The decoded node, None when it is not there, or DamagedNode when it cannot be read."""
    found = read_version(state, path, kind)
    return found[0] if found is not None else None


def read_version(
    state: StateManager, path: str, kind: type[T], *, any_format: bool = False
) -> tuple[T, int] | None:
    """The same with the version that it has."""
    try:
        node = state.get(path)
    except NodeMissing:
        return None
    try:
        return NODE.decode(node.value, kind, path, any_format=any_format), node.version
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if any_format and NODE.is_other(node.value):
            return None  # written by another version, with fields unknown to this one
        raise DamagedNode(path, f"it cannot be decoded: {error}", version=node.version) from error


def needed(state: StateManager, path: str, kind: type[T]) -> T:
    """The decoded node; NodeMissing, or DamagedNode."""
    found = read(state, path, kind)
    if found is None:
        msg = f"there is no node {path}"
        raise NodeMissing(msg)
    return found


def reported(state: StateManager, path: str, kind: type[T]) -> T | None:
    """What a process has published about itself; None if it is missing.

    Also None if it is damaged, since its owner soon writes it again, or if another version wrote it.
    """
    try:
        return read(state, path, kind)
    except (DamagedNode, OtherFormat) as unreadable:
        log.warning("%s", unreadable)
        return None


def register(state: StateManager, path: str, registration: Registration) -> bool:
    """Publish this process; False if it was replaced: a late write must not overwrite the successor's."""
    value = NODE.encode(registration)
    while True:
        try:
            found = read_version(state, path, Registration)
            if found is None:
                state.create(path, value)
            elif found[0].incarnation > registration.incarnation:
                return False
            else:
                state.set(path, value, version=found[1])
        except DamagedNode as damage:
            # It may have been a successor's. That one checks its registration too, and overwrites this one.
            log.warning("%s; it is written again", damage)
            state.set(path, value)
        except (NodeExists, NodeMissing, VersionConflict):
            continue
        return True


def given_up(state: StateManager, tree: Tree, container: int) -> str | None:
    """Why a container was given up; None if it was not. The existence of the node counts, not its value."""
    try:
        return state.get(tree.given_up(container)).value.decode(errors="replace")
    except NodeMissing:
        return None
    except DamagedNode:
        return "given up; the reason can no longer be read"


def stay_registered(state: StateManager, path: str, registration: Registration) -> bool:
    """Register again if the node is damaged or a predecessor's; False if a successor is registered."""
    try:
        found = read(state, path, Registration)
    except DamagedNode:
        return register(state, path, registration)
    if found is None or found == registration:
        return True
    return register(state, path, registration)


def client_keys(state: StateManager, tree: Tree) -> list[str]:
    """The public keys of commands that are connected to a topology now, such as `heronpy status`."""
    found = (reported(state, f"{tree.clients}/{name}", Registration) for name in state.children(tree.clients))
    return [registration.public_key for registration in found if registration is not None]
