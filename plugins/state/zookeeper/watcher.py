"""Permanent watches: ZooKeeper's fire only once, and not while the client is disconnected."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import KazooException
from kazoo.protocol.states import EventType

from heronpy.kernel.errors import StateError
from heronpy.plugins.state.node_watch import NodeWatch
from heronpy.plugins.state.zookeeper.tree import ZNodeTree

log = logging.getLogger(__name__)

#: pause before a watch that could not be armed is tried again
_RETRY = 0.5


class ZNodeWatch(NodeWatch):
    """Fires when the thread of its watcher has armed it again."""

    def __init__(self, watcher: ZNodeWatcher, path: str, callback: Callable[[], None]) -> None:
        super().__init__(path, callback)
        self._watcher = watcher

    def leave(self) -> None:
        self._watcher.forget(self)

    def on_event(self, event: Any) -> None:
        # NONE is kazoo's event for a lost connection; what matters is the reconnection
        if event.type != EventType.NONE:
            self._watcher.mark(self)


class ZNodeWatcher:
    """All watches of one state manager, and the thread that calls back.

    A watch that fired is armed again before its callback runs, so a later change fires again. After each
    new connection every watch is armed and its callback runs, whether the session is a new one or not.
    """

    def __init__(self, tree: ZNodeTree) -> None:
        self._tree = tree
        self._change = threading.Condition()
        self._watches: set[ZNodeWatch] = set()
        self._due: set[ZNodeWatch] = set()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def add(self, path: str, callback: Callable[[], None]) -> ZNodeWatch:
        watch = ZNodeWatch(self, path, callback)
        with self._change:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="zookeeper-watch", daemon=True)
                self._thread.start()
        try:
            self._tree.arm(path, watch.on_event)
        except BaseException:
            watch.cancel()
            raise
        return watch

    def forget(self, watch: ZNodeWatch) -> None:
        with self._change:
            self._watches.discard(watch)
            self._due.discard(watch)

    def mark(self, watch: ZNodeWatch) -> None:
        """This watch has to read again."""
        with self._change:
            if watch in self._watches:
                self._due.add(watch)
                self._change.notify()

    def mark_all(self) -> None:
        """Changes while the client was disconnected have been missed."""
        with self._change:
            self._due |= self._watches
            self._change.notify()

    def close(self) -> None:
        with self._change:
            self._stopping = True
            for watch in self._watches:
                watch.end()
            self._watches.clear()
            self._due.clear()
            self._change.notify()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._due or self._stopping)
                if self._stopping:
                    return
                due, self._due = self._due, set()
            for watch in due:
                self._serve(watch)

    def _serve(self, watch: ZNodeWatch) -> None:
        try:
            self._tree.arm(watch.path, watch.on_event)
        except (StateError, KazooException) as error:
            log.debug("the watch on %s is not armed: %s", watch.path, error)
            with self._change:
                if watch in self._watches:
                    self._due.add(watch)
                self._change.wait_for(lambda: self._stopping, _RETRY)
            return
        watch.fire()
