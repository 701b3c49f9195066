"""Checkpoints as files in a folder: on one machine, or on several that share it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore, checked_object

#: no object can have this name, since it begins with a dot
UNFINISHED = ".unfinished"

#: seconds after which a file that nobody holds is taken for what a dead writer left
STALE = 60.0

#: a folder can be cleared away as empty just before a file is moved there
ATTEMPTS = 100

_ADVICE = {
    errno.ENOSPC: ("the disk is full", "free some space there"),
    errno.EDQUOT: ("your disk quota is used up", "free some space there"),
    errno.EACCES: ("permission denied", "make the folder writable for you"),
    errno.EPERM: ("permission denied", "make the folder writable for you"),
    errno.EROFS: ("the disk is read-only", "mount it writable"),
    errno.ENOTDIR: ("a file is where a folder should be", "move it away"),
    errno.EISDIR: ("a folder is where an object should be", "move it away"),
}


class LocalFsStore(CheckpointStore):
    """Files below `checkpoint.path`, or `checkpoints` in home; for the own user alone.

    An object is written elsewhere, synced and moved to its place. The writer holds a lock on what is
    unfinished, so that the next store that is opened can tell what a dead one left, and removes it.
    """

    @override
    def initialize(self, config: Config) -> None:
        chosen = config.text("checkpoint.path")
        if "://" in chosen:
            msg = f"checkpoint.path is {chosen!r}, and the checkpoint store 'localfs' wants a folder"
            raise StoreError(msg, hint="--set checkpoint.store=fsspec")
        self._root = Path(chosen).expanduser().absolute() if chosen else config.home / "checkpoints"
        self._unfinished = self._root / UNFINISHED
        with self._disk_errors():
            self._clear_unfinished()

    @override
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        path = self._root / checked_object(name)
        with self._disk_errors():
            _make_folder(self._unfinished)
            unfinished = self._unfinished / secrets.token_hex(12)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    for chunk in chunks:
                        file.write(chunk)
                    file.flush()
                    os.fsync(file.fileno())
                    _move(unfinished, path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise

    @override
    def read(self, name: str) -> bytes:
        path = self._root / checked_object(name)
        with self._disk_errors():
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                msg = f"no object {name} in the checkpoint store {self._root}"
                raise ObjectMissing(msg, hint="heronpy checkpoints") from None

    @override
    def names(self, prefix: str) -> list[str]:
        folder = prefix.rpartition("/")[0]
        try:
            top = self._root / checked_object(folder) if folder else self._root
        except StoreError:
            return []  # no name begins with it
        found = []
        with self._disk_errors():
            for where, folders, files in os.walk(top):
                if where == str(self._root):
                    folders[:] = [name for name in folders if name != UNFINISHED]
                found += [os.path.relpath(os.path.join(where, name), self._root) for name in files]
        return sorted(name for name in found if name.startswith(prefix))

    @override
    def delete(self, name: str) -> None:
        path = self._root / checked_object(name)
        with self._disk_errors():
            try:
                path.unlink()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return
            _clear_empty_folders(path.parent, self._root)

    def _clear_unfinished(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            for path in list(self._unfinished.iterdir()):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - path.stat().st_mtime > STALE and _abandoned(path):
                        path.unlink()

    @contextlib.contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Turn an OSError into a StoreError that names the folder."""
        try:
            yield
        except OSError as error:
            what, hint = _ADVICE.get(error.errno or 0, (error.strerror or str(error), "check that disk"))
            msg = f"cannot use the checkpoint folder {self._root}: {what}"
            raise StoreError(msg, hint=f"{hint}, or set checkpoint.path to another") from error


def _abandoned(path: Path) -> bool:
    """Whether no writer holds it; the lock goes with the process."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _make_folder(folder: Path) -> None:
    """Make it and those above it, private, and remembered by the disk."""
    if folder.is_dir():
        return
    if not folder.parent.is_dir():
        _make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    _sync_folder(folder.parent)


def _move(source: Path, target: Path) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _make_folder(target.parent)
            source.replace(target)
        except FileNotFoundError:
            if attempt == ATTEMPTS or not source.exists():
                raise
        else:
            break
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear_empty_folders(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return  # something is in it, or somebody else was faster
        folder = folder.parent
