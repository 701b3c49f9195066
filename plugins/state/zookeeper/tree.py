"""Reading the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NodeExistsError, NoNodeError
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id, Permissions

from heronpy.kernel.errors import StateError
from heronpy.plugins.state.zookeeper.connection import Connection, Interrupted
from heronpy.plugins.state.zookeeper.record import ZNodeRecord, decode

#: names that begin like this are internal, and not nodes
HIDDEN = "@"
GUARD, PARTS = "/@guard", "/@parts"

#: all users may add topologies, and remove empty ones: the nodes inside one protect it from removal
_SHARED_FOLDER = Permissions.READ | Permissions.CREATE | Permissions.DELETE
_SHARED_VALUE = Permissions.READ | Permissions.WRITE


class FoundNode(msgspec.Struct, frozen=True):
    """A znode that is there."""

    stat: ZnodeStat
    #: None when it only leads to others, or is damaged
    record: ZNodeRecord | None
    #: why it cannot be read
    damage: str = ""

    @property
    def version(self) -> int:
        return int(self.stat.mzxid)


class Sight(msgspec.Struct, frozen=True):
    """All that a writer needs, as of one moment."""

    #: data version of the guard: it changes with every node that is created
    guard: int
    found: FoundNode | None
    #: folders on the way that are not there, from the top
    missing: tuple[str, ...]


class ZNodeTree:
    """The znodes below the root. A read sees every write that was finished before it."""

    def __init__(self, connection: Connection, root: str, authenticated: bool) -> None:
        self._connection = connection
        self._root = root
        self._authenticated = authenticated

    def at(self, path: str) -> str:
        """Where ZooKeeper has it."""
        return f"{self._root}{path}" if path != "/" else self._root or "/"

    def prepare(self) -> None:
        """Make the root and the internal nodes in it."""
        segments = self._root.split("/")[1:] if self._root else []
        for depth in range(1, len(segments) + 1):
            last = depth == len(segments)
            self._make("/" + "/".join(segments[:depth]), self._shared(_SHARED_FOLDER) if last else None)
        self._make(self.at(GUARD), self._shared(_SHARED_VALUE))
        self._make(self.at(PARTS), self._shared(_SHARED_FOLDER))

    def find(self, path: str) -> FoundNode | None:
        _, got = self._connection.ask(self._sync(path), self._get(path))
        return _found(got)

    def look(self, path: str) -> Sight:
        """The node, the guard and the way to it; a node that is created later changes the guard."""
        parents = _ancestors(path)
        _, guard, got, *stats = self._connection.ask(
            self._sync(path), self._exists(GUARD), self._get(path), *map(self._exists, parents)
        )
        if guard is None:
            self.prepare()
            return self.look(path)
        for parent, stat in zip(parents, stats, strict=True):
            if stat is not None and _checked(stat).ephemeralOwner:
                msg = f"{path} cannot be below {parent}, which is ephemeral"
                raise StateError(msg)
        missing = tuple(parent for parent, stat in zip(parents, stats, strict=True) if stat is None)
        return Sight(_checked(guard).version, _found(got), missing)

    def value(self, path: str, record: ZNodeRecord) -> bytes | None:
        """The value that a record stands for; None when it has been replaced in the meantime."""
        if not record.parts:
            return record.value
        parts = self._connection.ask(*map(self._get, part_paths(path, record)))
        if any(isinstance(part, NoNodeError) for part in parts):
            return None
        return b"".join(_checked(part)[0] for part in parts)

    def names(self, path: str) -> list[str]:
        """The children that have a value, or lead to one."""
        _, below = self._connection.ask(self._sync(path), self._below(path))
        return [] if isinstance(below, NoNodeError) else self._counting(path, _checked(below))

    def subtree(self, path: str) -> list[tuple[str, FoundNode]]:
        """The node and all below it, each behind its own children."""
        self._connection.ask(self._sync(path))
        nodes: list[tuple[str, FoundNode]] = []
        waiting = [path]
        while waiting:
            here = waiting.pop()
            got, below = self._connection.ask(self._get(here), self._below(here))
            found = _found(got)
            if found is not None and not isinstance(below, NoNodeError):
                nodes.append((here, found))
                waiting += [f"{here}/{name}" for name in _checked(below)]
        return nodes[::-1]

    def stat(self, path: str) -> ZnodeStat | None:
        (stat,) = self._connection.ask(self._exists(path))
        return _checked(stat) if stat is not None else None

    def arm(self, path: str, on_event: Callable[[Any], None]) -> None:
        """Set a one-time watch on the node's value, existence and set of children."""
        _, _, below = self._connection.ask(
            self._sync(path),
            lambda client: client.exists_async(self.at(path), watch=on_event),
            lambda client: client.get_children_async(self.at(path), watch=on_event),
        )
        if not isinstance(below, NoNodeError):
            _checked(below)

    def _sync(self, path: str) -> Callable[[KazooClient], Any]:
        return lambda client: client.sync_async(self.at(path))

    def _exists(self, path: str) -> Callable[[KazooClient], Any]:
        return lambda client: client.exists_async(self.at(path))

    def _get(self, path: str) -> Callable[[KazooClient], Any]:
        return lambda client: client.get_async(self.at(path))

    def _below(self, path: str) -> Callable[[KazooClient], Any]:
        return lambda client: client.get_children_async(self.at(path))

    def _counting(self, path: str, below: Sequence[str]) -> list[str]:
        names = sorted(name for name in below if not name.startswith(HIDDEN))
        paths = [f"{path}/{name}" if path != "/" else f"/{name}" for name in names]
        stats = self._connection.ask(*map(self._exists, paths)) if paths else []
        found = zip(names, paths, stats, strict=True)
        return [name for name, each, stat in found if stat is not None and self._counts(each, stat)]

    def _counts(self, path: str, stat: Any) -> bool:
        if isinstance(stat, NoAuthError) or _checked(stat).dataLength or was_written(stat):
            return True
        if not stat.numChildren:
            return False
        (below,) = self._connection.ask(self._below(path))
        if isinstance(below, NoAuthError):
            # another user's: it exists, and no more can be read
            return True
        return not isinstance(below, NoNodeError) and bool(self._counting(path, _checked(below)))

    def _make(self, where: str, acl: list[ACL] | None) -> None:
        while True:
            (stat,) = self._connection.ask(lambda client: client.exists_async(where))
            if stat is not None:
                return
            try:
                self._connection.act(lambda client: client.create_async(where, acl=acl or OPEN_ACL_UNSAFE))
            except (NodeExistsError, Interrupted):
                continue

    def _shared(self, permissions: int) -> list[ACL]:
        if not self._authenticated:
            return list(OPEN_ACL_UNSAFE)
        return [ACL(permissions, Id("world", "anyone")), ACL(Permissions.ALL, Id("auth", ""))]


def part_paths(path: str, record: ZNodeRecord) -> list[str]:
    """Where the parts of a large value are: with their topology, so that they go with it."""
    return [f"{parts_folder(path)}/{record.nonce}-{number}" for number in range(record.parts)]


def parts_folder(path: str) -> str:
    return f"{PARTS}/{path.split('/')[1]}"


def _ancestors(path: str) -> list[str]:
    """/a and /a/b for /a/b/c."""
    segments = path.split("/")[1:-1]
    return ["/" + "/".join(segments[: depth + 1]) for depth in range(len(segments))]


def _found(got: Any) -> FoundNode | None:
    if isinstance(got, NoNodeError):
        return None
    data, stat = _checked(got)
    record = decode(data)
    if record is None and (data or was_written(stat)):
        return FoundNode(stat, None, "it holds no record of heronpy's" if data else "it was emptied")
    return FoundNode(stat, record)


def was_written(stat: ZnodeStat) -> bool:
    """Whether it was set since it was made: no folder is, and a value is never empty."""
    return bool(stat.version)


def _checked(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer
