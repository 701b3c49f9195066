"""The thread that puts objects into the checkpoint store while the task goes on."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

from heronpy.instances.saving.state.encoding import one_line
from heronpy.instances.saving.state.object_format import Sections, write_object
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore

log = logging.getLogger(__name__)

#: how long close() waits for an object that is being written
_PATIENCE: Final = 5.0

#: called with the part that was written, if there was anything to write, and why it could not be
Done = Callable[[StoredPart | None, str], None]


class ObjectWriter:
    """Writes one object after the other. It opens the store, in its thread, and closes it."""

    def __init__(self, open_store: Callable[[], CheckpointStore]) -> None:
        self._open_store = open_store
        self._store: CheckpointStore | None = None
        self._jobs: queue.SimpleQueue[tuple[str, Sections, Done] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="state writer", daemon=True)
        self._thread.start()

    def write(self, name: str, sections: Sections, done: Done) -> None:
        self._jobs.put((name, sections, done))

    def end(self, *, wait: bool) -> None:
        """Finish the queued objects, and accept no more."""
        self._jobs.put(None)
        if wait:
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            name, sections, done = job
            part, error = None, ""
            try:
                part = self._write(name, sections) if sections else None
            except (
                Exception
            ) as problem:  # a plugin's; whatever it is, the task goes on without this checkpoint
                error = one_line(problem)
                log.warning("cannot store %s: %s", name, error)
            done(part, error)
        if self._store is not None:
            self._store.close()

    def _write(self, name: str, sections: Sections) -> StoredPart:
        if self._store is None:
            self._store = self._open_store()
        pieces, checksum = write_object(sections)
        self._store.write(name, pieces)
        size = sum(map(len, pieces))
        return StoredPart(name, checksum, size, tuple(sections.groups), whole=bool(sections.extras))
