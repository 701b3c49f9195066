"""Nodes as folders: reading them without a lock, changing them by one rename."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import NamedTuple

from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.names import NAME
from heronpy.plugins.state.localfs.descriptor import Descriptor
from heronpy.plugins.state.localfs.record import FileRecord, decode
from heronpy.plugins.state.localfs.spare import keep_spare, put_into_spare
from heronpy.plugins.state.paths import Segments

#: the value of a permanent node, and of an ephemeral one. The names differ because after a power cut a file
#: that was not synced may have its name and no content.
VALUE = "@value"
OWNED = "@owned"
VALUES = (VALUE, OWNED)
TMP = "@tmp"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: errors that mean "no node there": missing, a stray file, a symbolic link
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class DamagedOwned(DamagedNode):
    """The value of an ephemeral node is damaged, so its owner is not known."""


class Children(NamedTuple):
    """The children of a node, with what is needed to find those whose owner has died."""

    names: list[str]
    #: sessions that own some of them
    owners: frozenset[str]
    #: ephemeral children whose owner is not known, because they are damaged
    torn: tuple[str, ...]
    #: whether some have no value: such a node exists as long as it has children
    deeper: bool


class FileTree:
    """The tree below one folder. Methods that change it want the tree's lock to be held."""

    def __init__(self, root: Descriptor) -> None:
        self._root = root

    def read(self, segments: Segments) -> FileRecord | None:
        """The node's record; None for no value. DamagedNode for one that is not what was written."""
        with self._folder(segments) as folder:
            return None if folder is None else _read_value(folder, segments)

    def names(self, segments: Segments) -> list[str]:
        """The children, sorted. A folder with neither a value, good or damaged, nor children is none."""
        with self._folder(segments) as folder:
            if folder is None:
                return []
            return [name for name in _subfolders(folder) if _is_node(folder, name)]

    def children(self, segments: Segments) -> Children:
        names, owners, torn, deeper = self.names(segments), set(), [], False
        for name in names:
            try:
                record = self.read((*segments, name))
            except DamagedOwned:
                torn.append(name)
            except DamagedNode:
                continue  # it exists, and has no owner
            else:
                deeper |= record is None
                if record is not None and record.owner:
                    owners.add(record.owner)
        return Children(names, frozenset(owners), tuple(torn), deeper)

    def put(self, segments: Segments, record: FileRecord) -> None:
        """Store a record. A node that was not there appears with its missing parents in one rename."""
        durable = record.durable
        with self._nearest(segments) as (parent, depth), self._scratch() as (tmp, name):
            missing = segments[depth:]
            if missing:
                os.mkdir(name, 0o700, dir_fd=tmp)
                _write_chain(tmp, (name, *missing[1:]), record)
                os.rename(name, missing[0], src_dir_fd=tmp, dst_dir_fd=parent)
            else:
                self._replace(parent, tmp, name, record)
            if durable or missing:
                # an ephemeral node's folders may get children that stay
                os.fsync(parent)

    def _replace(self, parent: int, tmp: int, name: str, record: FileRecord) -> None:
        data, value = record.encode(), _value_name(record)
        try:
            _write_file(tmp, name, data, record.durable)
        except OSError as error:
            put_into_spare(error, self._root.fileno(), parent, value, data, record.durable)
        else:
            os.rename(name, value, src_dir_fd=tmp, dst_dir_fd=parent)
        if record.durable:
            # over an ephemeral one that was damaged
            _unlink(parent, OWNED)

    def drop(self, segments: Segments, *, durable: bool) -> None:
        """Remove a value, and with it the folders that are left holding nothing."""
        with self._folder(segments) as folder:
            if folder is None:
                return
            if _subfolders(folder):
                for value in VALUES:
                    _unlink(folder, value)
                if durable:
                    os.fsync(folder)
                return
        self.drop_all(segments, durable=durable)

    def drop_all(self, segments: Segments, *, durable: bool) -> None:
        """Remove a node and all below it in one rename, and parents that only led to it."""
        keep = len(segments) - 1
        while keep > 0 and self._only_leads_to(segments[:keep], segments[keep]):
            keep -= 1
        with self._folder(segments[:keep]) as parent, self._scratch() as (tmp, name):
            if parent is None:
                return
            try:
                os.rename(segments[keep], name, src_dir_fd=parent, dst_dir_fd=tmp)
            except FileNotFoundError:
                return
            if durable:
                os.fsync(parent)

    def clear_scratch(self) -> None:
        """Remove what a writer that died in the middle has left; keep some room for when there is none."""
        keep_spare(self._root.fileno())
        with self._tmp() as tmp:
            for name in os.listdir(tmp):
                _remove(tmp, name)

    def open_folder(self, segments: Segments) -> int | None:
        """A descriptor of the node's folder, for the caller to close."""
        fd = os.open(".", _FOLDER, dir_fd=self._root.fileno())
        for segment in segments:
            try:
                below = os.open(segment, _FOLDER, dir_fd=fd)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                return None
            finally:
                os.close(fd)
            fd = below
        return fd

    def _only_leads_to(self, segments: Segments, child: str) -> bool:
        with self._folder(segments) as folder:
            return folder is not None and not _has_value(folder) and _subfolders(folder) == [child]

    @contextlib.contextmanager
    def _folder(self, segments: Segments) -> Iterator[int | None]:
        fd = self.open_folder(segments)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    @contextlib.contextmanager
    def _nearest(self, segments: Segments) -> Iterator[tuple[int, int]]:
        """The deepest folder on the way that exists, and how many segments lead to it."""
        depth = len(segments)
        while (fd := self.open_folder(segments[:depth])) is None:
            depth -= 1
        try:
            yield fd, depth
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _tmp(self) -> Iterator[int]:
        fd = os.open(TMP, _FOLDER, dir_fd=self._root.fileno())
        try:
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[tuple[int, str]]:
        """A fresh name in the scratch folder; what has it at the end is removed."""
        name = secrets.token_hex(8)
        with self._tmp() as tmp:
            try:
                yield tmp, name
            finally:
                _remove(tmp, name)


def _subfolders(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if NAME.fullmatch(e.name) and e.is_dir(follow_symlinks=False))


def _is_node(parent: int, name: str) -> bool:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise
        return False
    try:
        return _has_value(folder) or bool(_subfolders(folder))
    finally:
        os.close(folder)


def _has_value(folder: int) -> bool:
    return any(_is_file(folder, value) for value in VALUES)


def _is_file(folder: int, name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _value_name(record: FileRecord) -> str:
    return OWNED if record.owner else VALUE


def _read_value(folder: int, segments: Segments) -> FileRecord | None:
    path = f"/{'/'.join(segments)}"
    for name, damaged in ((VALUE, DamagedNode), (OWNED, DamagedOwned)):
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            continue
        try:
            with os.fdopen(fd, "rb") as file:
                record = decode(file.read())
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise damaged(path, "the disk cannot read it") from error
        if record is None:
            raise damaged(path, "its checksum differs")
        return record
    return None


def _write_chain(parent: int, names: Segments, record: FileRecord) -> None:
    """Make names[1:] below the folder names[0], with the value in the last."""
    folder = os.open(names[0], _FOLDER, dir_fd=parent)
    try:
        if len(names) == 1:
            _write_file(folder, _value_name(record), record.encode(), record.durable)
        else:
            os.mkdir(names[1], 0o700, dir_fd=folder)
            _write_chain(folder, names[1:], record)
        if record.durable or len(names) > 1:
            os.fsync(folder)
    finally:
        os.close(folder)


def _write_file(folder: int, name: str, data: bytes, durable: bool) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _unlink(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _remove(folder: int, name: str) -> None:
    """Remove a file or a folder with all in it; a missing one is fine."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        shutil.rmtree(name, dir_fd=folder)
