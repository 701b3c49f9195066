"""Watches: one thread that sleeps until a folder on the way to a watched node changes."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
from collections.abc import Callable

from heronpy.plugins.state.localfs import inotify
from heronpy.plugins.state.localfs.descriptor import Descriptor
from heronpy.plugins.state.localfs.inotify import Event, Inotify
from heronpy.plugins.state.localfs.sessions import SESSIONS, paths_of
from heronpy.plugins.state.localfs.tree import VALUES, FileTree
from heronpy.plugins.state.node_watch import NodeWatch
from heronpy.plugins.state.paths import Segments, path_of, segments_of

log = logging.getLogger(__name__)


class ChainedWatch(NodeWatch):
    """Its chain has the folders from the root towards the node, as far as they exist."""

    def __init__(self, watcher: FileWatcher, segments: Segments, callback: Callable[[], None]) -> None:
        super().__init__(path_of(segments), callback)
        self.segments = segments
        self._watcher = watcher
        self.chain: list[int] = []
        self.changed = False

    def leave(self) -> None:
        self._watcher.forget(self)


class FileWatcher:
    """All watches of a state manager that has an inotify instance.

    A change is reported by an event, not by comparing two states: a child that went and came back in between
    is reported too. Events of before watch() returned are taken from the queue there.
    """

    def __init__(self, root: Descriptor, tree: FileTree, sessions_ended: Callable[[list[str]], None]) -> None:
        self._root = root
        self._tree = tree
        self._sessions_ended = sessions_ended
        self._lock = threading.Lock()
        self._watches: set[ChainedWatch] = set()
        #: folder number → the watches whose chain has it
        self._interest: dict[int, set[ChainedWatch]] = {}
        #: sessions whose file was closed; empty when some may have been, None when none was
        self._ended: list[str] | None = None
        #: events were lost, so every chain has to be walked again
        self._stale = False
        self._stopping = False
        with contextlib.ExitStack() as undo:
            self._inotify = Inotify()
            undo.callback(self._inotify.close)
            self._wake = Descriptor(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
            undo.callback(self._wake.close)
            self._sessions = self._watch_sessions(root)
            self._thread = threading.Thread(target=self._run, name="localfs-watch", daemon=True)
            try:
                self._thread.start()
            except BaseException:
                # a Ctrl-C may come when it runs already: then it ends, and closes them itself
                with self._lock:
                    self._stopping = True
                    os.eventfd_write(self._wake.fileno(), 1)
                if self._thread.ident is not None:
                    undo.pop_all()
                raise
            undo.pop_all()

    def add(self, segments: Segments, callback: Callable[[], None]) -> ChainedWatch:
        watch = ChainedWatch(self, segments, callback)
        with self._lock:
            self._watches.add(watch)
            self._resolve(watch)
            # what happened until now is what the caller finds on its first read
            self._collect()
            watch.changed = False
            os.eventfd_write(self._wake.fileno(), 1)
        return watch

    def forget(self, watch: ChainedWatch) -> None:
        with self._lock:
            if watch in self._watches:
                self._watches.discard(watch)
                self._follow(watch, [])

    def close(self) -> None:
        with self._lock:
            self._stopping = True
            for watch in self._watches:
                watch.end()
            self._watches.clear()
            # under the lock: the thread may be awake already, and closes this when it has seen the flag
            os.eventfd_write(self._wake.fileno(), 1)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _watch_sessions(self, root: Descriptor) -> int:
        folder = os.open(SESSIONS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root.fileno())
        try:
            return self._inotify.add(folder, inotify.IN_CLOSE_WRITE)
        finally:
            os.close(folder)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._inotify.fileno(), select.POLLIN)
        poll.register(self._wake.fileno(), select.POLLIN)
        while not self._stopping:
            poll.poll()
            try:
                self._turn()
            except Exception:
                log.exception("watching the state folder failed; it continues")
        with self._lock:
            self._inotify.close()
            self._wake.close()

    def _turn(self) -> None:
        with self._lock:
            self._quieten()
            self._collect()
            due = [watch for watch in self._watches if watch.changed]
            for watch in due:
                watch.changed = False
            ended, self._ended = self._ended, None
            watched = {watch.segments[:1] for watch in self._watches}
        for watch in due:
            watch.fire()
        if ended is None or self._stopping:
            return
        concerning = [session for session in ended if self._concerns(session, watched)]
        if concerning or not ended:
            self._sessions_ended(concerning)

    def _concerns(self, session: str, watched: set[Segments]) -> bool:
        """Whether it may own what is watched: a node of the same topology.

        All watchers of a home notice the end of every process. If a thousand of them took the tree's lock to
        clear up, a process that changes a node would hardly get it.
        """
        return () in watched or any(
            segments_of(path)[:1] in watched for path in paths_of(self._root, session)
        )

    def _quieten(self) -> None:
        try:
            os.eventfd_read(self._wake.fileno())
        except BlockingIOError:
            return

    def _collect(self) -> None:
        """Take the events that are waiting and mark the watches they concern."""
        events = self._inotify.read()
        walk_again = self._stale or any(event.mask & inotify.IN_Q_OVERFLOW for event in events)
        self._stale = True  # should one of the next lines fail
        for event in events:
            if event.folder == self._sessions:
                self._ended = [*(self._ended or ()), event.name]
            elif event.mask & inotify.ENTRIES:
                for watch in tuple(self._interest.get(event.folder, ())):
                    self._consider(watch, event)
        if walk_again:
            self._walk_again()
        self._stale = False

    def _walk_again(self) -> None:
        for watch in self._watches:
            self._resolve(watch)
            watch.changed = True
        self._ended = self._ended or []

    def _consider(self, watch: ChainedWatch, event: Event) -> None:
        depth = watch.chain.index(event.folder)
        if depth == len(watch.segments):
            watch.changed |= event.name in VALUES or not event.name.startswith("@")
        elif event.name == watch.segments[depth]:
            self._resolve(watch)
            # The node may have come and gone with this folder, even if all is as before by now: a lock that
            # was taken and released between two looks would otherwise be waited for in vain.
            watch.changed = True

    def _resolve(self, watch: ChainedWatch) -> None:
        """Walk down as far as folders exist. Each is watched before the next is looked up: no gap."""
        chain: list[int] = []
        for depth in range(len(watch.segments) + 1):
            folder = self._tree.open_folder(watch.segments[:depth])
            if folder is None:
                break
            try:
                chain.append(self._inotify.add(folder, inotify.ENTRIES))
            finally:
                os.close(folder)
        self._follow(watch, chain)

    def _follow(self, watch: ChainedWatch, chain: list[int]) -> None:
        for folder in set(chain) - set(watch.chain):
            self._interest.setdefault(folder, set()).add(watch)
        for folder in set(watch.chain) - set(chain):
            others = self._interest[folder]
            others.discard(watch)
            if not others:
                del self._interest[folder]
                self._inotify.remove(folder)
        watch.chain = chain
