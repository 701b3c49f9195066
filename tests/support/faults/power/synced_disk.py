"""A folder like a disk of its own: when its power has been cut it has what was synced, and no more."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
from pathlib import Path

from support.faults.power.synced_state import SyncedState
from support.suite.needs import needs_command

_SOURCE = Path(__file__).parent / "synced.c"
#: in the journal: from here on nothing reaches the disk any more
_CUT = "C"


def compile_library(folder: Path) -> Path:
    """What is preloaded to keep the journal."""
    needs_command("gcc", "gcc")
    made = folder / "synced.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE)], check=True)
    return made


class SyncedDisk:
    """The folder, which is there from the beginning; `notes` is for the journal and lies elsewhere."""

    def __init__(self, folder: Path, notes: Path, library: Path) -> None:
        self.folder, self._notes, self._library = folder, notes, library
        self._shim = ctypes.CDLL(str(library))
        self._begin()

    def environment(self) -> dict[str, str]:
        """For processes that use the disk."""
        return {
            "LD_PRELOAD": str(self._library),
            "SYNCED_ROOT": str(self.folder),
            "SYNCED_NOTES": str(self._notes),
        }

    @property
    def journal(self) -> Path:
        return self._notes / "journal"

    def mark(self) -> None:
        """The power is gone now: what is synced later comes too late."""
        with self.journal.open("a") as file:
            file.write(f"{_CUT}\n")

    def cut(self, dice: random.Random | None = None) -> None:
        """When nobody uses it any more: make it what it is after the cut.

        At the least that is what was synced up to the mark, if there is one. With dice, it is all that was
        synced and some of what was not.
        """
        lines = self._lines()
        state, top = SyncedState(self._notes / "blobs"), lines[0].split("\t")[1]
        if dice is None:
            state.replay(lines[: lines.index(_CUT)] if _CUT in lines else lines)
        else:
            state.replay(lines)
            self._sync_all()
            state.replay_some(self._lines()[len(lines) :], dice)
        _empty(self.folder)
        state.build(top, self.folder)
        shutil.rmtree(self._notes)
        self._begin()

    def _begin(self) -> None:
        """What is there now has been there for long."""
        (self._notes / "blobs").mkdir(parents=True)
        self._shim.synced_begin(os.fsencode(self.folder), os.fsencode(self._notes))
        self._sync_all()

    def _sync_all(self) -> None:
        for folder, folders, files in os.walk(self.folder):
            folders.sort()
            paths = [Path(folder), *(Path(folder) / name for name in sorted(files))]
            for path in paths:
                if path.is_dir() or (path.is_file() and not path.is_symlink()):
                    number = os.open(path, os.O_RDONLY)
                    try:
                        self._shim.fsync(number)
                    finally:
                        os.close(number)

    def _lines(self) -> list[str]:
        return self.journal.read_text().splitlines()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
