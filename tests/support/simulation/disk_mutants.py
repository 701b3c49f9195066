"""Engines that leave out something that a disk or a clock makes necessary. Each must be caught."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from heronpy.connectors import staged_files
from heronpy.connectors.files import folder as file_writer
from heronpy.connectors.sqlite import row_writer
from heronpy.container import folders
from heronpy.instances.saving.sink_transactions import Transactions
from heronpy.kernel.checkpoints import lookup, manifest
from heronpy.kernel.checkpoints.manifest import Manifest
from heronpy.kernel.errors import StoreError
from heronpy.kernel.machine import durable
from heronpy.kernel.master.checkpointing import act as checkpoint_act
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.plugins import disk
from heronpy.plugins.checkpoints.localfs import LocalFsStore
from heronpy.plugins.state.localfs import guard, root, tree

Patch = Callable[[pytest.MonkeyPatch], None]


class DiskMutant(NamedTuple):
    """What is wrong, which oracles complain, and a seed where they do."""

    patch: Patch
    oracles: tuple[str, ...]
    seed: int


def _is_folder(descriptor: int) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def _os_that_syncs(module: Any, patch: pytest.MonkeyPatch, *, folders: bool, files: bool) -> None:
    """For one module, fsync does something for folders only, for files only, or for nothing."""

    def fsync(descriptor: int) -> None:
        if folders if _is_folder(descriptor) else files:
            os.fsync(descriptor)

    patch.setattr(module, "os", SimpleNamespace(**{**vars(os), "fsync": fsync}))


def _sync_of(module: Any, patch: pytest.MonkeyPatch, *, folders: bool, files: bool) -> None:
    def sync(path: Path) -> None:
        if folders if path.is_dir() else files:
            durable.sync(path)
        elif not path.exists():
            raise FileNotFoundError(path)

    patch.setattr(module, "sync", sync)


def objects_not_synced(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint's object is moved to its place before it is on the disk."""
    _os_that_syncs(disk, patch, folders=True, files=False)


def names_of_objects_not_synced(patch: pytest.MonkeyPatch) -> None:
    """It is on the disk, and perhaps nothing leads to it."""
    patch.setattr(disk, "sync", lambda path: None)


def state_values_not_synced(patch: pytest.MonkeyPatch) -> None:
    """A value of the state tree is renamed over the last one before it is on the disk."""
    _os_that_syncs(tree, patch, folders=True, files=False)


def names_of_state_not_synced(patch: pytest.MonkeyPatch) -> None:
    """The rename itself may be lost."""
    _os_that_syncs(tree, patch, folders=False, files=True)


def staged_files_not_synced(patch: pytest.MonkeyPatch) -> None:
    """A sink says that it has prepared what is not on the disk."""
    _sync_of(staged_files, patch, folders=True, files=False)


def names_of_staged_files_not_synced(patch: pytest.MonkeyPatch) -> None:
    """The file is there, without a name."""
    _sync_of(staged_files, patch, folders=False, files=True)


def commits_of_files_not_synced(patch: pytest.MonkeyPatch) -> None:
    """A file that was shown may be hidden again, and is then taken for one that nobody wants."""
    _sync_of(file_writer, patch, folders=False, files=False)


def staging_folder_not_synced(patch: pytest.MonkeyPatch) -> None:
    """All of it is synced but the folder that it is in."""
    patch.setattr(staged_files, "make_durable", _plainly_made)


def state_folder_not_synced(patch: pytest.MonkeyPatch) -> None:
    """The home and the state folder are new, and nobody has synced what they are in."""
    patch.setattr(root, "make_durable", _plainly_made)
    patch.setattr(folders, "make_durable", _plainly_made)
    patch.setattr(root, "sync", lambda path: None)


def launch_file_not_synced(patch: pytest.MonkeyPatch) -> None:
    """There is a topology in the state tree, and nothing to start it with."""
    _os_that_syncs(folders, patch, folders=True, files=False)


def rows_only_nearly_durable(patch: pytest.MonkeyPatch) -> None:
    """SQLite's default: a power cut may take the last transaction back, and its staged file is gone."""
    real = row_writer._connected

    def connected(database: Path) -> sqlite3.Connection:
        connection = real(database)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    patch.setattr(row_writer, "_connected", connected)


def committed_when_prepared(patch: pytest.MonkeyPatch) -> None:
    """A sink shows what no complete checkpoint has."""
    real = Transactions._close

    def close(self: Transactions, checkpoint: int) -> None:
        real(self, checkpoint)
        for handle in self._unsaved:
            self._sink.commit(handle)

    patch.setattr(Transactions, "_close", close)


def manifest_after_its_node(patch: pytest.MonkeyPatch) -> None:
    """The state tree names a checkpoint whose manifest is still to be written."""
    real = manifest.write_manifest
    late: list[tuple[CheckpointStore, Manifest]] = []

    def write(store: CheckpointStore, made: Manifest, *, seconds: float = 0.0) -> Any:
        for one in late:
            real(*one)
        late[:] = [(store, made)]
        return real(cast("CheckpointStore", _Nowhere()), made, seconds=seconds)

    patch.setattr(checkpoint_act, "write_manifest", write)


def checksums_not_compared(patch: pytest.MonkeyPatch) -> None:
    """Whatever the store has is taken for what was written."""
    patch.setattr(manifest, "read_checked", lambda store, name, expected: store.read(name))


def full_store_not_told(patch: pytest.MonkeyPatch) -> None:
    """What found no room is taken for stored."""
    real = LocalFsStore.write

    def write(self: LocalFsStore, name: str, chunks: Iterable[bytes]) -> None:
        with contextlib.suppress(StoreError):
            real(self, name, chunks)

    patch.setattr(LocalFsStore, "write", write)


def writers_told_by_age_alone(patch: pytest.MonkeyPatch) -> None:
    """A clock that is set forward makes a file that is being written look abandoned."""
    patch.setattr(disk, "_abandoned", lambda path: True)


def versions_by_the_clock(patch: pytest.MonkeyPatch) -> None:
    """A clock that is set back gives a node an older version than it had."""
    patch.setattr(guard.TreeLock, "next_version", lambda self, after: time.time_ns() // 1000)


def newest_by_the_clock(patch: pytest.MonkeyPatch) -> None:
    """The newest checkpoint is the one with the latest time of day."""
    patch.setattr(
        lookup, "_newest_first", lambda found: sorted(found, key=lambda one: one.ref.at, reverse=True)
    )


def _plainly_made(folder: Path, mode: int = 0o700) -> None:
    folder.mkdir(mode=mode, parents=True, exist_ok=True)


class _Nowhere:
    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        pass


DISK_MUTANTS: dict[str, DiskMutant] = {
    patch.__name__: DiskMutant(patch, oracles, seed)
    for patch, oracles, seed in (
        (objects_not_synced, ("damage", "liveness"), 3),
        (names_of_objects_not_synced, ("damage", "liveness"), 3),
        (state_values_not_synced, ("error", "lost", "twice"), 1),
        (names_of_state_not_synced, ("error", "lost", "twice"), 1),
        (staged_files_not_synced, ("lost", "error"), 3),
        (names_of_staged_files_not_synced, ("lost", "error"), 70),
        (commits_of_files_not_synced, ("lost",), 3),
        (staging_folder_not_synced, ("lost", "error"), 13),
        (state_folder_not_synced, ("error",), 2),
        (launch_file_not_synced, ("error",), 2),
        (rows_only_nearly_durable, ("lost",), 3),
        (committed_when_prepared, ("twice",), 13),
        (manifest_after_its_node, ("damage", "liveness", "newest"), 1),
        (checksums_not_compared, ("lost", "twice", "error"), 11),
        (full_store_not_told, ("damage", "liveness"), 24),
        (writers_told_by_age_alone, ("error", "liveness"), 17),
        (versions_by_the_clock, ("version", "error"), 3),
        (newest_by_the_clock, ("newest",), 14),
    )
}
