"""Changing the tree: each change is one transaction, conditional on the state that was read.

A znode's own version starts over when it is deleted and created again, so it alone does not distinguish a
node from its successor. Whatever creates a node therefore also raises the version of the guard, and a
compare-and-set wants the guard as it was when the node was read.

A change whose answer was lost is looked up by its nonce before it is retried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)

from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, StateError, VersionConflict
from heronpy.plugins.state.zookeeper.connection import Connection, Interrupted
from heronpy.plugins.state.zookeeper.record import ZNodeRecord, new_nonce, pieces
from heronpy.plugins.state.zookeeper.tree import (
    GUARD,
    FoundNode,
    Sight,
    ZNodeTree,
    part_paths,
    parts_folder,
    was_written,
)

Operation = Callable[[TransactionRequest], None]

#: errors which mean that another client was first
_CHANGED = (BadVersionError, NoNodeError, NodeExistsError, NotEmptyError)
#: what the other operations of a failed transaction get
_DRAGGED_ALONG = (RolledBackError, RuntimeInconsistency)

#: nodes that one transaction removes; its message has a limit
_BATCH = 1000


class ZNodeWriter:
    """Creates, sets and deletes nodes."""

    def __init__(self, connection: Connection, tree: ZNodeTree) -> None:
        self._connection = connection
        self._tree = tree

    def create(self, path: str, value: bytes, *, ephemeral: bool) -> int:
        record, parts = _new_record(value)
        with self._parts(path, record, parts, ephemeral):
            while True:
                sight = self._tree.look(path)
                if _is(sight.found, record):
                    return _version(sight.found)
                if sight.found is not None and sight.found.record is not None:
                    msg = f"the node {path} is there already"
                    raise NodeExists(msg)
                if sight.found is not None and sight.found.damage:
                    raise DamagedNode(path, sight.found.damage)
                version = self._try_create(path, sight, record, ephemeral)
                if version is not None:
                    return version
                self._write_parts(path, record, parts, ephemeral)

    def set(self, path: str, value: bytes, wanted: int | None) -> int:
        record, parts = _new_record(value)
        with self._parts(path, record, parts, ephemeral=False):
            while True:
                sight = self._tree.look(path)
                if _is(sight.found, record):
                    return _version(sight.found)
                version = self._try_set(path, sight, record, wanted)
                if version is not None:
                    return version
                self._write_parts(path, record, parts, ephemeral=False)

    def replace(self, path: str, value: bytes, seen: int) -> int:
        """Set a value in place of a damaged one of this version; VersionConflict if it has another."""
        record, parts = _new_record(value)
        with self._parts(path, record, parts, ephemeral=False):
            while True:
                found = self._tree.look(path).found
                if _is(found, record):
                    return _version(found)
                if found is None or found.version != seen:
                    msg = f"the node {path} has changed"
                    raise VersionConflict(msg, hint="read it again, then decide again")
                version = _zxid(self._attempt(self._set(path, record.encode(), found.stat.version)))
                if version is not None:
                    return version

    def delete(self, path: str, *, recursive: bool) -> None:
        while True:
            nodes = self._tree.subtree(path)
            below = self._tree.names(path) if len(nodes) > 1 and not recursive else []
            if below:
                msg = f"the node {path} has children: {', '.join(below[:5])}{', …' if len(below) > 5 else ''}"
                raise StateError(msg, hint="delete them first, or delete recursively")
            if self._remove(each for each, _ in nodes):
                break
        for each, found in nodes:
            self._drop_parts(each, found)
        if path.count("/") == 1:
            self._remove(each for each, _ in self._tree.subtree(parts_folder(path)))
        self.prune(path)

    def prune(self, path: str) -> None:
        """Remove the folders that led to this node and lead nowhere any more."""
        parent = path.rpartition("/")[0]
        while parent:
            stat = self._tree.stat(parent)
            if stat is None or stat.dataLength or stat.numChildren or was_written(stat):
                return
            if self._attempt(self._delete(parent, stat.version)) is None:
                return
            parent = parent.rpartition("/")[0]

    def _try_create(self, path: str, sight: Sight, record: ZNodeRecord, ephemeral: bool) -> int | None:
        """The version; None when another client was first, or the outcome is unknown."""
        if sight.found is None:
            folders = [self._create(folder, b"") for folder in sight.missing]
            node = self._create(path, record.encode(), ephemeral)
            return _zxid(self._attempt(*folders, node, self._set(GUARD, b"", -1)))
        if not ephemeral:
            return _zxid(self._attempt(self._set(path, record.encode(), sight.found.stat.version)))
        if self._tree.names(path):
            msg = f"{path} has children, so it cannot be made ephemeral"
            raise StateError(msg)
        self._remove(each for each, _ in self._tree.subtree(path))
        return None

    def _try_set(self, path: str, sight: Sight, record: ZNodeRecord, wanted: int | None) -> int | None:
        found = sight.found
        if found is not None and found.damage and wanted is not None:
            raise DamagedNode(path, found.damage)
        if found is None or (found.record is None and not found.damage):
            if wanted is not None:
                msg = f"there is no node {path}"
                raise NodeMissing(msg)
            return self._try_create(path, sight, record, ephemeral=False)
        conditions = []
        if wanted is not None:
            if found.version != wanted:
                msg = f"the node {path} has version {found.version}, not {wanted}"
                raise VersionConflict(msg, hint="read it again, then decide again")
            conditions.append(self._check(GUARD, sight.guard))
        version = _zxid(self._attempt(*conditions, self._set(path, record.encode(), found.stat.version)))
        if version is not None:
            self._drop_parts(path, found)
        return version

    def _remove(self, paths: Iterable[str]) -> bool:
        """Delete znodes, in this order; False when they were not all as expected."""
        left = list(paths)
        while left:
            batch, left = left[:_BATCH], left[_BATCH:]
            if self._attempt(*(self._delete(each, -1) for each in batch)) is None:
                return False
        return True

    @contextlib.contextmanager
    def _parts(self, path: str, record: ZNodeRecord, parts: list[bytes], ephemeral: bool) -> Any:
        """Parts are written before the node names them, and go when it never does."""
        self._write_parts(path, record, parts, ephemeral)
        try:
            yield
        except StateError:
            if parts:
                with contextlib.suppress(StateError, KazooException):
                    self._drop_record(path, record)
            raise

    def _write_parts(self, path: str, record: ZNodeRecord, parts: list[bytes], ephemeral: bool) -> None:
        if not parts:
            return
        if self._tree.stat(parts_folder(path)) is None:
            self._attempt(self._create(parts_folder(path), b""))
        for where, part in zip(part_paths(path, record), parts, strict=True):
            while self._tree.stat(where) is None:
                self._attempt(self._create(where, part, ephemeral))

    def _drop_parts(self, path: str, found: FoundNode) -> None:
        if found.record is not None:
            self._drop_record(path, found.record)

    def _drop_record(self, path: str, record: ZNodeRecord) -> None:
        for part in part_paths(path, record):
            self._attempt(self._delete(part, -1))

    def _attempt(self, *operations: Operation) -> Any:
        """The last operation's result; None when another client was first, or the outcome is unknown."""

        def request(client: KazooClient) -> Any:
            transaction = client.transaction()
            for operation in operations:
                operation(transaction)
            return transaction.commit_async()

        try:
            results = self._connection.act(request)
        except Interrupted:
            return None
        errors = [each for each in results if isinstance(each, Exception)]
        for error in errors:
            if not isinstance(error, _CHANGED + _DRAGGED_ALONG):
                raise error
        return None if errors else results[-1]

    def _create(self, path: str, data: bytes, ephemeral: bool = False) -> Operation:
        where, acl = self._tree.at(path), self._connection.acl
        return lambda transaction: transaction.create(where, data, acl=acl, ephemeral=ephemeral)

    def _set(self, path: str, data: bytes, version: int) -> Operation:
        return lambda transaction: transaction.set_data(self._tree.at(path), data, version)

    def _check(self, path: str, version: int) -> Operation:
        return lambda transaction: transaction.check(self._tree.at(path), version)

    def _delete(self, path: str, version: int) -> Operation:
        return lambda transaction: transaction.delete(self._tree.at(path), version)


def _new_record(value: bytes) -> tuple[ZNodeRecord, list[bytes]]:
    parts = pieces(value)
    return ZNodeRecord(new_nonce(), b"" if parts else value, len(parts)), parts


def _is(found: FoundNode | None, record: ZNodeRecord) -> bool:
    """Whether this client's change has been applied after all."""
    return found is not None and found.record is not None and found.record.nonce == record.nonce


def _version(found: FoundNode | None) -> int:
    assert found is not None
    return found.version


def _zxid(stat: Any) -> int | None:
    """All operations of a transaction have one number, which is the version of what they wrote."""
    return None if stat is None else int(stat.mzxid)
