"""The state manager `zookeeper`: the tree in a ZooKeeper ensemble, shared by many machines."""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import PluginError, StateError
from heronpy.kernel.machine.listen_address import address_towards
from heronpy.kernel.plugin.state_manager import Node, StateManager, Watch
from heronpy.plugins.state.paths import node_segments_of, segments_of
from heronpy.plugins.state.values import check_size
from heronpy.plugins.state.zookeeper.settings import Settings

if TYPE_CHECKING:
    from heronpy.plugins.state.zookeeper.client import Client


class ZooKeeperStateManager(StateManager):
    """Keeps the tree below `state.zookeeper.root` of the servers `state.zookeeper.hosts`.

    An ephemeral node stays while the connection is away for less than `state.zookeeper.session`, and as long
    after its process was killed. It can have no children. A watch does not fire when a child goes that had no
    value of its own and whose last ephemeral child ended with its process.
    """

    distributions = ("kazoo",)
    secrets = ("state.zookeeper.credentials",)

    @override
    def initialize(self, config: Config) -> None:
        if importlib.util.find_spec("kazoo") is None:
            msg = "the state manager 'zookeeper' needs kazoo, which is not installed"
            raise PluginError(msg, hint="pip install 'heron-py[zookeeper]'")
        from heronpy.plugins.state.zookeeper.client import Client

        self._owned: set[str] = set()
        self._life = threading.Lock()
        self._closed = False
        settings = Settings.of(config)
        self._servers = settings.servers
        self._guarded = bool(settings.credentials)
        self._client: Client = Client(settings)
        self._client.open()

    @property
    @override
    def session(self) -> int:
        return self._client.connection.lost_sessions

    @property
    @override
    def own_address(self) -> str:
        for host, port in self._servers:
            with contextlib.suppress(OSError):
                return address_towards(host, port)
        return super().own_address

    @override
    def place(self) -> str:
        return "ZooKeeper at " + ", ".join(f"{host}:{port}" for host, port in self._servers)

    @override
    def warnings(self) -> Sequence[str]:
        if self._guarded:
            return ()
        hosts = ", ".join(f"{host}:{port}" for host, port in self._servers)
        return (
            f"the nodes in ZooKeeper at {hosts} have no credentials: every account that reaches it decides"
            " what the topology runs (docs/zookeeper.md)",
        )

    @override
    def get(self, path: str) -> Node:
        segments_of(path)
        with self._client.naming(path):
            return self._client.read(path)

    @override
    def create(self, path: str, value: bytes, *, ephemeral: bool = False) -> int:
        node_segments_of(path)
        check_size(path, value)
        with self._client.naming(path):
            if ephemeral:
                with self._life:
                    self._owned.add(path)
            return self._client.writer.create(path, value, ephemeral=ephemeral)

    @override
    def set(self, path: str, value: bytes, *, version: int | None = None) -> int:
        node_segments_of(path)
        check_size(path, value)
        with self._client.naming(path):
            return self._client.writer.set(path, value, version)

    @override
    def repair(self, path: str, value: bytes) -> int:
        node_segments_of(path)
        check_size(path, value)
        with self._client.naming(path):
            return self._client.repair(path, value)

    @override
    def delete(self, path: str, *, recursive: bool = False) -> None:
        node_segments_of(path)
        with self._client.naming(path):
            self._client.writer.delete(path, recursive=recursive)

    @override
    def children(self, path: str) -> list[str]:
        segments_of(path)
        with self._client.naming(path):
            return self._client.tree.names(path)

    @override
    def watch(self, path: str, callback: Callable[[], None]) -> Watch:
        segments_of(path)
        with self._client.naming(path):
            return self._client.watcher.add(path, callback)

    @override
    def close(self) -> None:
        with self._life:
            if self._closed:
                return
            self._closed = True
        self._client.watcher.close()
        for path in self._owned:
            # the session's end would remove them as well, but not the folders that led to them
            with contextlib.suppress(StateError), self._client.naming(path):
                self._client.delete_own(path)
        self._client.connection.close()
