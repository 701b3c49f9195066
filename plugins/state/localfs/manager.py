"""The state manager `localfs`: the tree in a folder, shared by the processes of one machine."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import Node, StateManager, Watch, not_damaged
from heronpy.plugins.state.localfs.disk_errors import disk_errors
from heronpy.plugins.state.localfs.guard import TreeLock
from heronpy.plugins.state.localfs.inotify import NoInstance
from heronpy.plugins.state.localfs.poller import Poller
from heronpy.plugins.state.localfs.record import FileRecord
from heronpy.plugins.state.localfs.root import open_root
from heronpy.plugins.state.localfs.sessions import (
    SessionFile,
    dead_sessions,
    forget,
    has_living_owner,
    is_alive,
    is_dead,
    paths_of,
)
from heronpy.plugins.state.localfs.tree import DamagedOwned, FileTree
from heronpy.plugins.state.localfs.watcher import FileWatcher
from heronpy.plugins.state.paths import Segments, node_segments_of, segments_of
from heronpy.plugins.state.values import check_size

log = logging.getLogger(__name__)

#: the kernel reports a closed file just before it releases its lock: pauses before the next check
_RELEASE_PAUSES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class LocalFsStateManager(StateManager):
    """Keeps the tree in `<home>/state`. Serves one process: after a fork the child makes its own."""

    shared = False

    def place(self) -> str:
        return str(self._folder)

    def initialize(self, config: Config) -> None:
        self._folder = Path(config["home"]).expanduser() / "state"
        self._session: SessionFile | None = None
        self._watcher: FileWatcher | Poller | None = None
        self._life = threading.Lock()
        self._closing = False
        with contextlib.ExitStack() as undo, disk_errors(self._folder):
            self._root = open_root(self._folder)
            undo.callback(self._root.close)
            self._guard = TreeLock(self._root)
            undo.callback(self._guard.close)
            self._tree = FileTree(self._root)
            # a reader needs no lock, however many others write
            self._guard.try_briefly(self._tree.clear_scratch)
            self._reap_dead()
            undo.pop_all()

    def get(self, path: str) -> Node:
        segments = segments_of(path)
        with disk_errors(self._folder):
            try:
                record = self._tree.read(segments)
                orphan = record is not None and self._is_orphan(record)
            except DamagedOwned:
                orphan = True
            if orphan:
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
            return self._put(segments, FileRecord(value, 0, owner))

    def set(self, path: str, value: bytes, *, version: int | None = None) -> int:
        segments = node_segments_of(path)
        check_size(path, value)
        with self._changing():
            try:
                found = self._current(segments)
            except DamagedNode:
                if version is not None:
                    raise
                found = None
            if version is not None and found is None:
                raise _missing(path)
            if found is None:
                return self._put(segments, FileRecord(value, 0))
            if version is not None and version != found.version:
                msg = f"the node {path} has version {found.version}, not {version}"
                raise VersionConflict(msg, hint="read it again, then decide again")
            return self._put(segments, FileRecord(value, found.version, found.owner))

    def repair(self, path: str, value: bytes) -> int:
        segments = node_segments_of(path)
        check_size(path, value)
        with self._changing():
            try:
                self._current(segments)
            except DamagedNode:
                return self._put(segments, FileRecord(value, 0))
        raise not_damaged(path)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        segments = node_segments_of(path)
        with self._changing():
            below = self._tree.names(segments)
            if below and not recursive:
                # they may be those of processes that have ended
                self._reap_dead()
                below = self._tree.names(segments)
            if below and not recursive:
                msg = f"the node {path} has children: {', '.join(below[:5])}{', …' if len(below) > 5 else ''}"
                raise StateError(msg, hint="delete them first, or delete recursively")
            self._tree.drop_all(segments, durable=bool(below) or self._is_durable(segments))

    def children(self, path: str) -> list[str]:
        segments = segments_of(path)
        with disk_errors(self._folder):
            found = self._tree.children(segments)
            dead = [owner for owner in found.owners if not is_alive(self._root, owner)]
            if not (dead or found.torn or found.deeper):
                return found.names
            if found.deeper:
                self._reap_dead()
            elif dead:
                self._reap_all(dead)
            for name in found.torn:
                with self._guard.held(), contextlib.suppress(DamagedNode):
                    self._current((*segments, name))
            return self._tree.names(segments)

    def watch(self, path: str, callback: Callable[[], None]) -> Watch:
        segments = segments_of(path)
        with disk_errors(self._folder):
            with self._life:
                self._root.fileno()
                watcher, is_new = self._watcher or self._new_watcher(), self._watcher is None
                self._watcher = watcher
            if is_new:
                # after the watch is set: the death of an owner is noticed from here on
                self._reap_dead()
            return watcher.add(segments, lambda: self._tell_settled(callback))

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

    def _new_watcher(self) -> FileWatcher | Poller:
        try:
            return FileWatcher(self._root, self._tree, self._sessions_ended)
        except NoInstance:
            # commands must work at the limit as well, and topologies beyond it start
            log.info("no inotify instance is available: the state folder is polled")
            return Poller(self._root, self._tree, self._sessions_ended)

    def _tell_settled(self, callback: Callable[[], None]) -> None:
        """Call back once the change that was seen is durable: its writer holds the lock until then.

        What is done because of it, such as a sink's commit, must not outlive it in a power cut.
        """
        with contextlib.suppress(StateError), self._guard.held():
            pass
        callback()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with disk_errors(self._folder), self._guard.held():
            yield

    def _current(self, segments: Segments) -> FileRecord | None:
        """The record that counts. What does not count is taken out first, so that watchers see it go."""
        try:
            record = self._tree.read(segments)
        except DamagedOwned as damage:
            if has_living_owner(self._root, damage.path):
                raise
            # a power cut has taken its session, which was over, and not its folder
            self._tree.drop(segments, durable=False)
            return None
        if record is not None and self._is_orphan(record):
            self._reap(record.owner)
            # also where its owner could not record it any more
            self._tree.drop(segments, durable=False)
            return None
        return record

    def _is_durable(self, segments: Segments) -> bool:
        try:
            record = self._tree.read(segments)
        except DamagedOwned:
            return False
        except DamagedNode:
            return True
        return record is None or record.durable

    def _put(self, segments: Segments, record: FileRecord) -> int:
        version = self._guard.next_version(record.version)
        self._tree.put(segments, FileRecord(record.value, version, record.owner))
        return version

    def _own(self, path: str) -> str:
        session = self._session or SessionFile(self._root)
        self._session = session
        session.note(path)
        return session.id

    def _leave(self, session: SessionFile) -> None:
        for path in session.paths():
            self._drop_owned(path, session.id)
        forget(self._root, session.id)

    def _is_orphan(self, record: FileRecord) -> bool:
        return bool(record.owner) and not is_alive(self._root, record.owner)

    def _reap_dead(self) -> None:
        """Remove the ephemeral nodes of processes that ended without close()."""
        if dead := dead_sessions(self._root):
            self._reap_all(dead)

    def _reap_all(self, dead: list[str]) -> None:
        with self._guard.held():
            for session in dead:
                self._reap(session)

    def _reap(self, session: str) -> None:
        for path in paths_of(self._root, session):
            self._drop_owned(path, session)
        forget(self._root, session)

    def _drop_owned(self, path: str, session: str) -> None:
        segments = node_segments_of(path)
        try:
            record = self._tree.read(segments)
        except DamagedOwned:
            # whose it was cannot be read; if it is another's by now, that one makes it again
            self._tree.drop(segments, durable=False)
            return
        except DamagedNode:
            return  # a node that stays has come to its place
        if record is not None and record.owner == session:
            self._tree.drop(segments, durable=False)

    def _sessions_ended(self, sessions: list[str]) -> None:
        """These sessions have ended, or any if none is named. Several processes notice; one clears up."""
        for pause in _RELEASE_PAUSES:
            time.sleep(pause)
            if not any(is_alive(self._root, session) for session in sessions):
                break
        if not sessions:
            self._reap_dead()
        elif dead := [session for session in sessions if is_dead(self._root, session)]:
            self._reap_all(dead)


def _missing(path: str) -> NodeMissing:
    msg = f"there is no node {path}"
    return NodeMissing(msg)
