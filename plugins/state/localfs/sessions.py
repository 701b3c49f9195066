"""Sessions: the owners of ephemeral nodes, and whether their processes live."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets

from heronpy.plugins.state.localfs.descriptor import Descriptor
from heronpy.plugins.state.localfs.tree import TMP
from heronpy.plugins.state.paths import is_node_path

SESSIONS = "@sessions"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class SessionFile:
    """One owner: a file that is held with flock for as long as its process lives, however that ends.

    The file lists the paths of its ephemeral nodes, so that a process that finds the owner dead need not
    search the tree. It stays open for writing: closing such a file is an event to watchers of the folder.
    """

    def __init__(self, root: Descriptor) -> None:
        """Wants the tree's lock, under which the scratch folder is not cleared."""
        self.id = secrets.token_hex(8)
        self._paths: set[str] = set()
        tmp = f"{TMP}/{self.id}"
        self._file = Descriptor(os.open(tmp, _NEW, 0o600, dir_fd=root.fileno()))
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            # moved in when locked: a live session is never seen without its lock
            os.rename(tmp, f"{SESSIONS}/{self.id}", src_dir_fd=root.fileno(), dst_dir_fd=root.fileno())
            _sync_folder(root)
        except BaseException:
            self.close()
            raise

    def note(self, path: str) -> None:
        """Write a path down, before its node is made: after a power failure too, it leads to the node."""
        if path in self._paths:
            return
        line = f"{path}\n".encode("ascii")
        size = os.fstat(self._file.fileno()).st_size
        if os.write(self._file.fileno(), line) != len(line):
            os.ftruncate(self._file.fileno(), size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(self._file.fileno())
        self._paths.add(path)

    def paths(self) -> list[str]:
        return sorted(self._paths)

    def close(self) -> None:
        """Release the lock. The file stays until it is forgotten, so that others find what is left."""
        self._file.close()


def is_alive(root: Descriptor, session: str) -> bool:
    """Whether the session's process lives. Readers share the lock, so a check does not look like an owner."""
    try:
        # not for writing: closing it again must not look like the owner's end
        fd = os.open(f"{SESSIONS}/{session}", _READ, dir_fd=root.fileno())
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def is_dead(root: Descriptor, session: str) -> bool:
    """Whether the session's process ended and has left things: an orderly end leaves no file."""
    path = f"{SESSIONS}/{session}"
    return os.access(path, os.F_OK, dir_fd=root.fileno()) and not is_alive(root, session)


def dead_sessions(root: Descriptor) -> list[str]:
    folder = os.open(SESSIONS, _READ | os.O_DIRECTORY, dir_fd=root.fileno())
    try:
        return [session for session in os.listdir(folder) if not is_alive(root, session)]
    finally:
        os.close(folder)


def paths_of(root: Descriptor, session: str) -> list[str]:
    """The paths that a session wrote down; the last may be cut short, and then has no line end."""
    try:
        fd = os.open(f"{SESSIONS}/{session}", _READ, dir_fd=root.fileno())
    except FileNotFoundError:
        return []
    with os.fdopen(fd, "rb") as file:
        lines = [line[:-1].decode("ascii", "replace") for line in file if line.endswith(b"\n")]
    return [line for line in lines if is_node_path(line)]


def has_living_owner(root: Descriptor, path: str) -> bool:
    """Whether a session whose process lives wrote this path down: it does so before it makes the node."""
    folder = os.open(SESSIONS, _READ | os.O_DIRECTORY, dir_fd=root.fileno())
    try:
        found = os.listdir(folder)
    finally:
        os.close(folder)
    return any(path in paths_of(root, session) and is_alive(root, session) for session in found)


def forget(root: Descriptor, session: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{SESSIONS}/{session}", dir_fd=root.fileno())


def _sync_folder(root: Descriptor) -> None:
    folder = os.open(SESSIONS, _READ | os.O_DIRECTORY, dir_fd=root.fileno())
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
