"""Watches without inotify: one thread polls the watched nodes, less often while they are quiet."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import NamedTuple

from heronpy.kernel.errors import DamagedNode
from heronpy.plugins.state.localfs.descriptor import Descriptor
from heronpy.plugins.state.localfs.record import FileRecord
from heronpy.plugins.state.localfs.sessions import is_alive
from heronpy.plugins.state.localfs.tree import FileTree
from heronpy.plugins.state.node_watch import NodeWatch
from heronpy.plugins.state.paths import Segments, path_of

log = logging.getLogger(__name__)

#: seconds between two polls: after a change, and when nothing has changed for long. The first is longer than
#: the kernel's clock tick, which is how fine the times of folders are.
SHORTEST = 0.05
LONGEST = 1.0
#: back-off, the growth of the pause after a quiet poll: a change is found at most half as late again
#: as it took to come
GROWTH = 1.5

#: how many segments of the path there are, and inode and time of the last change of the last folder of them
Stamp = tuple[int, int, int]


class Seen(NamedTuple):
    """The state that a watch compares, and the sessions that it depends on."""

    version: int | None
    children: tuple[str, ...]
    owners: frozenset[str]


NOTHING = Seen(None, (), frozenset())
#: stands for a value that cannot be read: none that was written has this version
DAMAGED = FileRecord(b"", -1)


class PolledWatch(NodeWatch):
    """What was seen of the node last."""

    def __init__(self, watcher: Poller, segments: Segments, callback: Callable[[], None]) -> None:
        super().__init__(path_of(segments), callback)
        self.segments = segments
        self._watcher = watcher
        self.stamp: Stamp = (0, 0, 0)
        self.seen = NOTHING
        #: whether the node was read later than in the tick of its stamp: only then has another change another
        self.settled = True

    def leave(self) -> None:
        self._watcher.forget(self)


class Poller:
    """All watches of a state manager without an inotify instance.

    A child that goes and comes back between two polls is reported, since the time of its folder changes.
    Sessions that own watched nodes are checked too, as no other process may notice that one has ended.
    """

    def __init__(self, root: Descriptor, tree: FileTree, sessions_ended: Callable[[list[str]], None]) -> None:
        self._root = root
        self._tree = tree
        self._sessions_ended = sessions_ended
        self._lock = threading.Lock()
        self._watches: set[PolledWatch] = set()
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="localfs-watch", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            # a Ctrl-C may come when the thread runs already
            self._stopping = True
            self._woken.set()
            raise

    def add(self, segments: Segments, callback: Callable[[], None]) -> PolledWatch:
        watch = PolledWatch(self, segments, callback)
        with self._lock:
            self._look(watch)
            self._watches.add(watch)
        self._woken.set()
        return watch

    def forget(self, watch: PolledWatch) -> None:
        with self._lock:
            self._watches.discard(watch)

    def close(self) -> None:
        with self._lock:
            self._stopping = True
            for watch in self._watches:
                watch.end()
            self._watches.clear()
        self._woken.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        pause = SHORTEST
        while not self._stopping:
            if self._woken.wait(pause):
                self._woken.clear()
                pause = SHORTEST
                continue
            try:
                changed = self._turn()
            except Exception:
                log.exception("polling the state folder failed; it continues")
                changed = False
            pause = SHORTEST if changed else min(LONGEST, pause * GROWTH)

    def _turn(self) -> bool:
        """Call back for what has changed; returns whether anything has."""
        with self._lock:
            owners = frozenset().union(*(watch.seen.owners for watch in self._watches))
        ended = [session for session in owners if not is_alive(self._root, session)]
        if ended:
            self._sessions_ended(ended)
        with self._lock:
            due = [watch for watch in self._watches if self._look(watch)]
        for watch in due:
            watch.fire()
        return bool(due)

    def _look(self, watch: PolledWatch) -> bool:
        """Whether the node differs from what was seen of it before."""
        stamp = self._stamp(watch.segments)
        same = stamp == watch.stamp
        if same and watch.settled:
            return False
        seen = self._read(watch.segments) if stamp[0] == len(watch.segments) else NOTHING
        changed = not same or seen[:2] != watch.seen[:2]
        watch.stamp, watch.seen, watch.settled = stamp, seen, same
        return changed

    def _stamp(self, segments: Segments) -> Stamp:
        """Of the node, or of what there is above it: there it shows that the node has come and gone again.

        A reader that has found the node in between waits for the event of its removal.
        """
        for depth in range(len(segments), -1, -1):
            folder = self._tree.open_folder(segments[:depth])
            if folder is not None:
                try:
                    found = os.fstat(folder)
                finally:
                    os.close(folder)
                return depth, found.st_ino, found.st_mtime_ns
        return 0, 0, 0

    def _read(self, segments: Segments) -> Seen:
        record = self._record(segments)
        children = tuple(self._tree.names(segments))
        records = [record, *(self._record((*segments, name)) for name in children)]
        owners = frozenset(each.owner for each in records if each is not None and each.owner)
        return Seen(None if record is None else record.version, children, owners)

    def _record(self, segments: Segments) -> FileRecord | None:
        """DAMAGED for a damaged value: the node exists, and its next change must be reported."""
        try:
            return self._tree.read(segments)
        except DamagedNode:
            return DAMAGED
