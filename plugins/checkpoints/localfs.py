"""Checkpoints as files in a folder: on one machine, or on several that share it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ObjectMissing, StoreError
from heronpy.kernel.machine.private import require_own_way
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore, checked_object
from heronpy.plugins.disk import UNFINISHED, clear_unfinished, disk_errors, replacing, require_unshared


class LocalFsStore(CheckpointStore):
    """Files below `checkpoint.path`, or `checkpoints` in home; for the own user alone.

    An object is written elsewhere, synced and moved to its place. The next store that is opened removes what
    a dead writer left behind.
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
            require_unshared(self._root, chosen=bool(chosen))
            clear_unfinished(self._unfinished)

    @override
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        with self._disk_errors(), replacing(self._own(name), self._unfinished) as file:
            for chunk in chunks:
                file.write(chunk)

    @override
    def read(self, name: str) -> bytes:
        with self._disk_errors():
            path = self._own(name)
            try:
                with open(path, "rb") as file:
                    return file.read()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                msg = f"no object {name} in the checkpoint store {self._root}"
                raise ObjectMissing(msg, hint="heronpy checkpoints") from None

    @override
    def names(self, prefix: str) -> list[str]:
        folder = prefix.rpartition("/")[0]
        try:
            top = self._path(folder) if folder else str(self._root)
        except StoreError:
            return []  # no name begins with it
        found = []
        with self._disk_errors():
            for where, folders, files in os.walk(top, onerror=_raise):
                if where == str(self._root):
                    folders[:] = [name for name in folders if name != UNFINISHED]
                found += [os.path.relpath(os.path.join(where, name), self._root) for name in files]
        return sorted(name for name in found if name.startswith(prefix))

    @override
    def delete(self, name: str) -> None:
        with self._disk_errors():
            path = self._own(name)
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return
            _clear_empty_folders(os.path.dirname(path), str(self._root))

    def _path(self, name: str) -> str:
        """A string: see kernel/machine/durable.py."""
        return os.path.join(self._root, checked_object(name))

    def _own(self, name: str) -> str:
        """Where the object is. An instance unpickles it, so no other account may have made it."""
        path = self._path(name)
        require_own_way(self._root, path)
        return path

    def _disk_errors(self) -> contextlib.AbstractContextManager[None]:
        return disk_errors(
            f"the checkpoint folder {self._root}", StoreError, "set checkpoint.path to another"
        )


def _raise(error: OSError) -> None:
    """A missing folder counts as empty; a folder that cannot be read is an error."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _clear_empty_folders(folder: str, root: str) -> None:
    while folder != root:
        try:
            os.rmdir(folder)
        except OSError:
            return  # the folder is not empty, or another process has removed it
        folder = os.path.dirname(folder)
