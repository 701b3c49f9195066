"""What a process finds of its predecessor's death, and hands to each task that it builds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from heronpy.instances.output.codec import Codec
from heronpy.instances.poison.guard import Guard, PoisonSettings
from heronpy.instances.poison.history import HistoryFile
from heronpy.instances.poison.mark import IDLE, died_in, mapped
from heronpy.kernel.logs.log_rotation import POISON, SUFFIX
from heronpy.kernel.machine.private import make_private

log = logging.getLogger(__name__)


class Finding:
    """Made once in a process, before its first task."""

    def __init__(self, work: Path, logs: Path, marks: Path, component: str, label: str) -> None:
        """`work` is for what tasks of this machine share; `marks` should be in memory, not on a disk."""
        folder = work / "poison"
        make_private(folder)
        self._file = HistoryFile(folder / f"{component}.json")
        #: a log as any other: capped, and shown by `heronpy logs` from whichever machine
        self._aside = logs / f"{label}{POISON}{SUFFIX}"
        self._cells, left = mapped(marks / f"{label}.mark")
        digest = died_in(left)
        self._died = digest is not None
        if digest is not None:
            self._file.change(lambda history: history.after_death(digest))
            log.warning("the previous process died while processing a tuple: recording tuples from now on")

    @property
    def shown(self) -> str:
        """The tuple that was refused last, in words; empty for none."""
        return self._file.read().shown

    def guard(self, settings: PoisonSettings, codec: Codec, clock: Callable[[], float]) -> Guard:
        """For a task that is built, maybe in place of another."""
        return Guard(self._cells, self._file, self._aside, settings, codec, clock, died=self._died)

    def excuse(self) -> None:
        """The process ends, and no tuple is to blame. Safe from any thread."""
        self._cells[0] = IDLE
