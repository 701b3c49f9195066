"""Linux inotify: events for changes in folders, instead of polling."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

import msgspec

from heronpy.kernel.errors import StateError
from heronpy.plugins.state.localfs.descriptor import Descriptor

IN_CLOSE_WRITE = 0x00000008
IN_MOVED_FROM = 0x00000040
IN_MOVED_TO = 0x00000080
IN_CREATE = 0x00000100
IN_DELETE = 0x00000200
IN_Q_OVERFLOW = 0x00004000

#: entries that come into a folder or leave it
ENTRIES = IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE

#: instances left to the user's other programs: editors, tail, desktop services
RESERVE = 16

_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


class Event(msgspec.Struct, frozen=True):
    """Something happened to the entry `name` of the folder with number `folder`."""

    folder: int
    mask: int
    name: str


class NoInstance(Exception):
    """The user has no inotify instance to spare: the folder must be polled."""


class Inotify:
    """One queue of events, for any number of folders."""

    def __init__(self) -> None:
        self._queue = Descriptor(_new_instance())
        try:
            _probe_reserve()
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._queue.fileno()

    def add(self, folder: int, mask: int) -> int:
        """Start to watch an open folder; the same folder has the same number while it is watched."""
        number: int = _libc.inotify_add_watch(
            self.fileno(), f"/proc/self/fd/{folder}".encode(), ctypes.c_uint32(mask)
        )
        if number < 0:
            _refuse("fs.inotify.max_user_watches")
        return number

    def remove(self, number: int) -> None:
        """Stop watching. A folder that was deleted has stopped by itself, which is not an error."""
        _libc.inotify_rm_watch(self.fileno(), number)

    def read(self) -> list[Event]:
        """What has happened since the last call, oldest first; never waits."""
        events: list[Event] = []
        while True:
            try:
                data = os.read(self.fileno(), _BUFFER)
            except BlockingIOError:
                return events
            at = 0
            while at < len(data):
                folder, mask, _cookie, size = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + size].rstrip(b"\0")
                events.append(Event(folder, mask, os.fsdecode(name)))
                at += size

    def close(self) -> None:
        self._queue.close()


def _new_instance() -> int:
    fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd >= 0:
        return fd
    number = ctypes.get_errno()
    if number == errno.EMFILE:
        raise NoInstance
    raise OSError(number, os.strerror(number))


def _probe_reserve() -> None:
    """Raise NoInstance if the user's other programs would have fewer than the reserve left."""
    taken: list[int] = []
    try:
        for _ in range(RESERVE):
            taken.append(_new_instance())  # noqa: PERF401 - those taken are closed when one is refused
    finally:
        for fd in taken:
            os.close(fd)


def _refuse(limit: str) -> None:
    """Raise what the last call failed with; running out of watches has an errno of other meaning."""
    number = ctypes.get_errno()
    if number == errno.ENOSPC:
        msg = f"this machine's limit {limit} is reached"
        raise StateError(msg, hint=f"sudo sysctl {limit}=524288")
    raise OSError(number, os.strerror(number))
