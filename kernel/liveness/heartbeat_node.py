"""Signs of life in the state tree: a small node of its own that changes while its process runs."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator

from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, StateError, VersionConflict
from heronpy.kernel.liveness.silence import LOOKS, SilenceDetector
from heronpy.kernel.plugin.state_manager import StateManager

log = logging.getLogger(__name__)


class HeartbeatNode:
    """This process's heartbeat. A process that takes the node over fences it: beat() raises
    VersionConflict or NodeMissing."""

    def __init__(self, state: StateManager, path: str, silence: float) -> None:
        self._state = state
        self._path = path
        self._session = state.session
        self.interval = silence / LOOKS
        #: distinguishes our node from a successor's
        self._token = secrets.token_bytes(8)
        self._version = self._take_over()

    def beat(self) -> None:
        try:
            self._version = self._state.set(self._path, self._token, version=self._version)
        except VersionConflict:
            node = self._state.get(self._path)
            if node.value != self._token:
                raise
            # a beat of this process was written although the state tree reported an error: it counts
            self._version = node.version
        except DamagedNode as damage:
            # the owner of a damaged node is unknown; a successor, if there is one, takes the node over again
            log.warning("%s; it is created again", damage)
            self._version = self._take_over()
        except NodeMissing:
            if self._state.session == self._session:
                raise
            self._begin_anew()

    @contextlib.contextmanager
    def in_background(self, on_fenced: Callable[[], None]) -> Iterator[None]:
        """Beat from a thread: for a process that may rightly be busy for long."""
        over = threading.Event()
        thread = threading.Thread(
            target=self._keep_beating, args=(over, on_fenced), name="heartbeat", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _keep_beating(self, over: threading.Event, on_fenced: Callable[[], None]) -> None:
        while not over.wait(self.interval):
            try:
                self.beat()
            except (VersionConflict, NodeMissing):
                on_fenced()
                return
            except StateError as error:
                log.warning("could not write the heartbeat: %s", error)

    def _begin_anew(self) -> None:
        """The state tree has ended our session: create the node again, unless a successor has done so."""
        session = self._state.session
        try:
            self._version = self._state.create(self._path, self._token, ephemeral=True)
        except NodeExists as error:
            raise VersionConflict(str(error)) from error
        self._session = session

    def _take_over(self) -> int:
        while True:
            # one that was replaced while it was stopped, and cannot know, may still own it
            self._state.delete(self._path)
            with contextlib.suppress(NodeExists):
                return self._state.create(self._path, self._token, ephemeral=True)


class HeartbeatReader:
    """Follows heartbeat nodes: what counts is that they change, timed by the clock of this process."""

    def __init__(self, state: StateManager, silence: float) -> None:
        self._state = state
        self.detector: SilenceDetector[str] = SilenceDetector(silence, longest=silence)
        self._versions: dict[str, int] = {}

    def look(self, now: float, paths: Iterable[str]) -> None:
        """Read these nodes. One that is not there, or was given up, is not awaited."""
        # before any time counts: an unreadable tree must not count as silence
        versions = {path: self._read(path) for path in paths}
        self.detector.look(now)
        for path, version in versions.items():
            if version is None:
                self._versions.pop(path, None)
                self.detector.forget(path)
            elif self._versions.get(path) != version:
                self._versions[path] = version
                self.detector.hear(path)

    def _read(self, path: str) -> int | None:
        try:
            return self._state.get(path).version
        except NodeMissing:
            return None
        except DamagedNode:
            # no sign of life, and no end: its owner makes it again, if it lives
            return self._versions.get(path)

    def give_up(self, path: str) -> None:
        """Await it no more until it changes."""
        self.detector.forget(path)
