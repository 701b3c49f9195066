"""The state manager `localfs`: the tree in a folder, shared by the processes of one machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from heronpy.kernel.config import Config
from heronpy.kernel.errors import NodeExists, NodeMissing, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import Node, StateManager, Watch
from heronpy.plugins.state.localfs.disk_errors import disk_errors
from heronpy.plugins.state.localfs.guard import Guard
from heronpy.plugins.state.localfs.record import Record
from heronpy.plugins.state.localfs.root import open_root
from heronpy.plugins.state.localfs.sessions import Session, dead_sessions, forget, is_alive, paths_of
from heronpy.plugins.state.localfs.tree import Tree
from heronpy.plugins.state.localfs.watcher import Watcher
from heronpy.plugins.state.paths import Segments, node_segments_of, segments_of
from heronpy.plugins.state.values import check_size

#: the kernel tells of a closed file just before it releases the lock on it: pauses until we look again
_RELEASE_PAUSES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class LocalFsStateManager(StateManager):
    """Keeps the tree in `<home>/state`. Serves one process: after a fork the child makes its own."""

    shared = False

    def initialize(self, config: Config) -> None:
        self._folder = Path(config["home"]).expanduser() / "state"
        self._session: Session | None = None
        self._watcher: Watcher | None = None
        self._life = threading.Lock()
        self._closing = False
        with contextlib.ExitStack() as undo, disk_errors(self._folder):
            self._root = open_root(self._folder)
            undo.callback(self._root.close)
            self._guard = Guard(self._root)
            undo.callback(self._guard.close)
            self._tree = Tree(self._root)
            with self._guard.held():
                self._tree.clear_scratch()
            self._reap_dead()
            undo.pop_all()

    def get(self, path: str) -> Node:
        segments = segments_of(path)
        with disk_errors(self._folder):
            record = self._tree.read(segments)
            if record is not None and self._is_orphan(record):
                with self._guard.held():
                    record = self._current(segments)
        if record is None:
            raise _missing(path)
        return Node(record.value, record.version)

    def create(self, path: str, value: bytes, *, ephemeral: bool = False) -> int:
        segments = node_segments_of(path)
        check_size(path, value)
        with self._changing():
            if self._current(segments) is not None:
                msg = f"the node {path} is there already"
                raise NodeExists(msg)
            owner = self._own(path) if ephemeral else ""
            return self._put(segments, Record(value, 0, owner))

    def set(self, path: str, value: bytes, *, version: int | None = None) -> int:
        segments = node_segments_of(path)
        check_size(path, value)
        with self._changing():
            found = self._current(segments)
            if version is not None and found is None:
                raise _missing(path)
            if found is None:
                return self._put(segments, Record(value, 0))
            if version is not None and version != found.version:
                msg = f"the node {path} has version {found.version}, not {version}"
                raise VersionConflict(msg, hint="read it again, then decide again")
            return self._put(segments, Record(value, found.version, found.owner))

    def delete(self, path: str, *, recursive: bool = False) -> None:
        segments = node_segments_of(path)
        with self._changing():
            self._reap_dead()
            below = self._tree.names(segments)
            if below and not recursive:
                msg = f"the node {path} has children: {', '.join(below[:5])}{', …' if len(below) > 5 else ''}"
                raise StateError(msg, hint="delete them first, or delete recursively")
            record = self._tree.read(segments)
            self._tree.drop_all(segments, durable=bool(below) or record is None or record.durable)

    def children(self, path: str) -> list[str]:
        segments = segments_of(path)
        with disk_errors(self._folder):
            self._reap_dead()
            return self._tree.names(segments)

    def watch(self, path: str, callback: Callable[[], None]) -> Watch:
        segments = segments_of(path)
        with disk_errors(self._folder):
            with self._life:
                self._root.fileno()
                watcher = self._watcher or Watcher(self._root, self._tree, self._sessions_ended)
                self._watcher = watcher
            # after the watcher listens: an owner that dies from here on is heard of
            self._reap_dead()
            return watcher.add(segments, callback)

    def close(self) -> None:
        with self._life:
            if self._closing or self._root.closed:
                return
            self._closing = True
        # without the lock: a callback that runs now may want it
        if self._watcher is not None:
            self._watcher.close()
        with contextlib.ExitStack() as stack:
            stack.callback(self._root.close)
            stack.callback(self._guard.close)
            if self._session is not None:
                stack.callback(self._session.close)
                with self._changing():
                    self._leave(self._session)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with disk_errors(self._folder), self._guard.held():
            yield

    def _current(self, segments: Segments) -> Record | None:
        """The record that counts. What does not count is taken out first, so that watchers see it go."""
        record = self._tree.read(segments)
        if record is None or self._is_orphan(record):
            if record is not None:
                self._reap(record.owner)
            if self._tree.has_value(segments):
                self._tree.drop(segments, durable=record is None or record.durable)
            return None
        return record

    def _put(self, segments: Segments, record: Record) -> int:
        version = self._guard.next_version(record.version)
        self._tree.put(segments, Record(record.value, version, record.owner))
        return version

    def _own(self, path: str) -> str:
        session = self._session or Session(self._root)
        self._session = session
        session.note(path)
        return session.id

    def _leave(self, session: Session) -> None:
        for path in session.paths():
            self._drop_owned(path, session.id)
        forget(self._root, session.id)

    def _is_orphan(self, record: Record) -> bool:
        return bool(record.owner) and not is_alive(self._root, record.owner)

    def _reap_dead(self) -> None:
        """Remove the ephemeral nodes of processes that ended without close()."""
        dead = dead_sessions(self._root)
        if dead:
            with self._guard.held():
                for session in dead:
                    self._reap(session)

    def _reap(self, session: str) -> None:
        for path in paths_of(self._root, session):
            self._drop_owned(path, session)
        forget(self._root, session)

    def _drop_owned(self, path: str, session: str) -> None:
        segments = node_segments_of(path)
        record = self._tree.read(segments)
        if record is not None and record.owner == session:
            self._tree.drop(segments, durable=False)

    def _sessions_ended(self, sessions: list[str]) -> None:
        for pause in _RELEASE_PAUSES:
            time.sleep(pause)
            if not any(is_alive(self._root, session) for session in sessions):
                break
        self._reap_dead()


def _missing(path: str) -> NodeMissing:
    msg = f"there is no node {path}"
    return NodeMissing(msg)
