"""The parts of one client put together; all that needs kazoo is imported from here."""

from __future__ import annotations

from heronpy.kernel.errors import DamagedNode, NodeMissing
from heronpy.kernel.plugin.state_manager import Node, not_damaged
from heronpy.plugins.state.zookeeper.connection import Connection, naming
from heronpy.plugins.state.zookeeper.settings import Settings
from heronpy.plugins.state.zookeeper.tree import ZNodeTree
from heronpy.plugins.state.zookeeper.watcher import ZNodeWatcher
from heronpy.plugins.state.zookeeper.writing import ZNodeWriter


class Client:
    """One session, or several in a row."""

    naming = staticmethod(naming)

    def __init__(self, settings: Settings) -> None:
        self.connection = Connection(settings, lambda: self.watcher.mark_all())
        self.tree = ZNodeTree(self.connection, settings.root, authenticated=bool(settings.credentials))
        self.writer = ZNodeWriter(self.connection, self.tree)
        self.watcher = ZNodeWatcher(self.tree)

    def open(self) -> None:
        self.connection.open()
        try:
            with naming("/"):
                self.tree.prepare()
        except BaseException:
            self.connection.close()
            raise

    def read(self, path: str) -> Node:
        """The node, or NodeMissing, or DamagedNode."""
        seen = -1
        while True:
            found = self.tree.find(path)
            if found is not None and found.damage:
                raise DamagedNode(path, found.damage)
            if found is None or found.record is None:
                msg = f"there is no node {path}"
                raise NodeMissing(msg)
            value = self.tree.value(path, found.record)
            if value is not None:
                return Node(value, found.version)
            if found.version == seen:
                raise DamagedNode(path, "parts of it are missing from ZooKeeper")
            seen = found.version

    def repair(self, path: str, value: bytes) -> int:
        before = self.tree.find(path)
        try:
            self.read(path)
        except DamagedNode:
            if before is not None:
                return self.writer.replace(path, value, before.version)
        except NodeMissing:
            pass
        raise not_damaged(path)

    def delete_own(self, path: str) -> None:
        """Remove an ephemeral node of this session, if it is that."""
        stat = self.tree.stat(path)
        if stat is not None and stat.ephemeralOwner == self.connection.session_id:
            self.writer.delete(path, recursive=False)
        else:
            self.writer.prune(path)
