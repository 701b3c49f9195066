"""Uncommitted output: files in a separate folder, each named after its owner."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from heronpy.kernel.errors import TopologyError
from heronpy.kernel.machine.durable import make_durable, sync
from heronpy.kernel.machine.private import NotPrivate, keep_others_out, require_ours

#: between the owner of a file and what makes its name unique; in no name of a topology
MARK = "~"


class StagedFiles:
    """The files of one owner; each transaction is written into one of its own.

    `new` makes a unique file name, `prepared` makes the file durable, `committed` is called when its content
    is visible.
    """

    def __init__(self, folder: Path, owner: str, sink: str) -> None:
        """Make sure that the folder is there and can be written to; `sink` names the class in errors."""
        self._folder, self._owner = folder, owner
        #: prepared by this process, and not committed
        self._prepared: set[Path] = set()
        try:
            _make_staging(folder)
            probe = self.new()
            probe.touch(mode=0o600)
            probe.unlink()
        except NotPrivate as error:
            msg = f"{sink} cannot write there: {error}"
            raise TopologyError(msg, hint="remove it, or choose a folder of your own") from error
        except OSError as error:
            msg = f"{sink} cannot write to {folder}: {error.strerror}"
            raise TopologyError(msg) from error

    def new(self) -> Path:
        """A file for a transaction that begins, not made yet."""
        return self._folder / f"{self._owner}{MARK}{secrets.token_hex(6)}"

    def prepared(self, staged: Path) -> None:
        """All of the transaction is in this file: make it durable."""
        try:
            sync(staged)
        except FileNotFoundError:
            raise _discarded(staged) from None
        sync(staged.parent)
        self._prepared.add(staged)

    def committed(self, staged: Path) -> None:
        """What was in this file is visible."""
        self._prepared.discard(staged)

    def verify(self, staged: Path) -> None:
        """A file that has not been committed yet, perhaps another machine's, must be there."""
        if not staged.is_file():
            msg = f"{staged.parent} of this machine does not have {staged.name}, which is to be committed"
            raise TopologyError(msg, hint="choose a folder that all machines share")

    def check_missing(self, staged: Path) -> None:
        """A file is missing: a commit removes it, so normally it has been committed already.

        But not if this process made it, or if its folder is missing as well.
        """
        if staged in self._prepared:
            raise _discarded(staged)
        if not staged.parent.is_dir():
            msg = f"{staged} is to be committed, and there is no folder {staged.parent}"
            raise TopologyError(msg, hint="choose a folder that all machines share")

    def abort(self) -> None:
        for path in self._folder.iterdir():
            if path.name.startswith(f"{self._owner}{MARK}"):
                discard(path)


def _make_staging(folder: Path) -> None:
    """What is committed comes from it, so it is this account's. What is above it is the user's."""
    make_durable(folder.parent, 0o755)
    make_durable(folder)
    require_ours(folder)
    keep_others_out(folder)


def _discarded(staged: Path) -> TopologyError:
    return TopologyError(f"{staged} is gone: another process has taken the place of this task")


def discard(path: Path) -> None:
    """Remove a file that may be gone."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
