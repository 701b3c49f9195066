"""Uncommitted output: files in a separate folder, each named after its task."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from heronpy.bolt import Bolt
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.machine.durable import make_durable, sync
from heronpy.kernel.machine.private import NotPrivate, keep_others_out, require_ours
from heronpy.transactions import TransactionalSink
from heronpy.tuple import Tuple

#: between the owner of a file and what makes its name unique; in no name of a topology
_MARK = "~"


class StagingSink(TransactionalSink, Bolt):
    """Common part of sinks that write each transaction into a file first.

    `stage` makes a unique file name, `prepared` makes the file durable, `committed` is called when its
    content is visible.
    """

    #: where they are; made by `use_staging`
    staging: Path
    #: tuples that wait for the commit of the open transaction: only where tuples are tracked
    _written: list[Tuple]
    #: … and of what is prepared, by the name of its file
    _prepared: dict[str, list[Tuple]]

    def use_staging(self, folder: Path) -> None:
        """In initialize: make sure that the folder is there and can be written to."""
        self.staging, self._written, self._prepared = folder, [], {}
        try:
            _make_staging(folder)
            probe = self.stage()
            probe.touch(mode=0o600)
            probe.unlink()
        except NotPrivate as error:
            msg = f"{type(self).__qualname__} cannot write there: {error}"
            raise TopologyError(msg, hint="remove it, or choose a folder of your own") from error
        except OSError as error:
            msg = f"{type(self).__qualname__} cannot write to {folder}: {error.strerror}"
            raise TopologyError(msg) from error

    def stage(self) -> Path:
        """A file for a transaction that begins, not made yet."""
        return self.staging / f"{self.owner}{_MARK}{secrets.token_hex(6)}"

    def noted(self, tup: Tuple) -> None:
        """A tuple has been written. With at least once, it is acked when it is committed."""
        if tup.id is None:
            self.ack(tup)
        else:
            self._written.append(tup)

    def prepared(self, staged: Path) -> None:
        """All that was written since the last time is in this file: make it durable."""
        try:
            sync(staged)
        except FileNotFoundError:
            raise _discarded(staged) from None
        sync(staged.parent)
        self._prepared[str(staged)] = self._written
        self._written = []

    def committed(self, staged: Path) -> None:
        """What was in this file is visible."""
        for tup in self._prepared.pop(str(staged), ()):
            self.ack(tup)

    def check_missing(self, staged: Path) -> None:
        """A file is missing: a commit removes it, so normally it has been committed already.

        But not if this process made it, or if its folder is missing as well.
        """
        if str(staged) in self._prepared:
            raise _discarded(staged)
        if not staged.parent.is_dir():
            msg = f"{staged} is to be committed, and there is no folder {staged.parent}"
            raise TopologyError(msg, hint="choose a folder that all machines share")

    def abort(self) -> None:
        for path in self.staging.iterdir():
            if path.name.startswith(f"{self.owner}{_MARK}"):
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


def suffixed(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def absolute(config: dict[str, object], key: str, component: str) -> Path:
    """A path of the config. It means the same to all machines, so it is not relative."""
    found = config.get(key)
    if not isinstance(found, str | os.PathLike) or not os.fspath(found):
        msg = f"{component!r} needs {key!r} in its config: a path"
        raise DefinitionError(msg)
    path = Path(found)
    if not path.is_absolute():
        msg = f"{key!r} of {component!r} must be an absolute path, got {str(path)!r}"
        raise DefinitionError(msg, hint=f"use os.path.abspath({str(path)!r})")
    return path
