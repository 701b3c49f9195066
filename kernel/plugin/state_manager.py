"""The coordination interface: a small tree with versions, ephemeral nodes and watches."""

from __future__ import annotations

import abc
import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final, Protocol

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, TimedOut, VersionConflict


class Node(msgspec.Struct, frozen=True):
    """A node's bytes and the version they have."""

    value: bytes
    version: int


#: bytes that the value of a node may have, in every state tree
MAX_VALUE: Final = 1024 * 1024


class Watch(Protocol):
    """A running watch."""

    def cancel(self) -> None:
        """No callback starts after this returns. Safe to repeat, and from inside the callback."""


class StateManager(abc.ABC):
    """A tree of nodes, each with bytes and children. Selected with `--state NAME`.

    Paths are absolute: "/wordcount/containers/1". Segments follow the grammar of kernel.names; any
    other path is refused with a StateError. Nodes can hold 1 MiB. Safe to use from several threads.
    A store that cannot be reached makes calls fail with a StateError after a few seconds, not wait for it.
    A node whose value is not what was written is damaged, which is not missing: it exists and is among the
    children of its parent, it can be deleted, repaired, and set without a version; all else is DamagedNode.
    """

    #: whether processes on other machines see the same tree
    shared: ClassVar[bool] = True
    #: distributions, besides the plugin's own and what that requires, that must be installed where it is used
    distributions: ClassVar[tuple[str, ...]] = ()
    #: settings of text that name a file with a secret, which containers on other machines need as well
    secrets: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def initialize(self, config: Config) -> None:
        """Called once, first: connect, or fail with a StateError that says what to do."""

    @abc.abstractmethod
    def get(self, path: str) -> Node:
        """The node, or NodeMissing, or DamagedNode."""

    @abc.abstractmethod
    def create(self, path: str, value: bytes, *, ephemeral: bool = False) -> int:
        """Make a node and return its version; NodeExists if it is there. Parents are made as needed.

        An ephemeral node vanishes, watches included, when this state manager is closed or its process dies;
        and when a store on other machines has had no heartbeat from this client for too long (see `session`).
        """

    @abc.abstractmethod
    def set(self, path: str, value: bytes, *, version: int | None = None) -> int:
        """Replace the value and return the new version.

        With a version: only if that is the node's version now (compare-and-set), else VersionConflict;
        a missing node is NodeMissing. Without one: also creates the node. Versions grow, never repeat
        for a node that is deleted and made again, and say nothing else.
        """

    def repair(self, path: str, value: bytes) -> int:
        """Replace a damaged value and return the new version; VersionConflict if it is not damaged.

        A store that several processes write to at once should do that in one step.
        """
        try:
            self.get(path)
        except DamagedNode:
            return self.set(path, value)
        except NodeMissing:
            pass
        raise not_damaged(path)

    @abc.abstractmethod
    def delete(self, path: str, *, recursive: bool = False) -> None:
        """Remove a node. A missing one is no error; one with children is, unless recursive."""

    @abc.abstractmethod
    def children(self, path: str) -> list[str]:
        """Names of the children, sorted; empty for a missing node."""

    @abc.abstractmethod
    def watch(self, path: str, callback: Callable[[], None]) -> Watch:
        """Call back after the node's value, existence or set of children changed.

        Never called for what was true when watch() returned; several changes may cause one call. The
        callback runs on a thread of the state manager and should only wake the thread that reads again.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Called once, last: ephemeral nodes go, watches end, no thread stays."""

    @property
    def session(self) -> int:
        """Incremented each time that the store has ended our session and removed our ephemeral nodes.

        They are not created again: only the code that created one can decide that. All watches are called.
        """
        return 0

    @property
    def own_address(self) -> str:
        """This machine's address for other machines that see the tree; loopback if there are none."""
        return "127.0.0.1"

    def place(self) -> str:
        """Where the tree is, for messages to a person; empty if that would not help."""
        return ""

    def warnings(self) -> Sequence[str]:
        """Warnings to show when a topology is submitted with these settings: one line each."""
        return ()

    def exists(self, path: str) -> bool:
        """Whether the node is there (also one that only has children)."""
        try:
            self.get(path)
        except NodeMissing:
            return bool(self.children(path))
        except DamagedNode:
            return True
        return True

    @contextlib.contextmanager
    def lock(self, path: str, *, timeout: float) -> Iterator[None]:
        """Hold an exclusive lock; a holder that dies lets go. TimedOut names the path. Not re-entrant."""
        version = self._acquire(path, timeout)
        try:
            yield
        finally:
            # a lock that was lost meanwhile may have another holder by now
            with contextlib.suppress(NodeMissing, DamagedNode):
                if self.get(path).version == version:
                    self.delete(path)

    def _acquire(self, path: str, timeout: float) -> int:
        with contextlib.suppress(NodeExists):
            return self.create(path, b"", ephemeral=True)
        deadline = time.monotonic() + timeout
        freed = threading.Event()
        watch = self.watch(path, freed.set)
        try:
            while True:
                freed.clear()
                with contextlib.suppress(NodeExists):
                    return self.create(path, b"", ephemeral=True)
                if not freed.wait(max(0.0, deadline - time.monotonic())):
                    msg = f"could not lock {path} in {timeout:g} s"
                    raise TimedOut(msg, hint="run the command again when the other one has finished")
        finally:
            watch.cancel()


def not_damaged(path: str) -> VersionConflict:
    """What repair() raises for a node that can be read, or is gone."""
    msg = f"the node {path} is not damaged"
    return VersionConflict(msg, hint="read it again, then decide again")
