"""What `ps` and `top` show of a process."""

from __future__ import annotations

import ctypes
import os

_PR_SET_NAME = 15
#: found once, in the zygote: a library that is opened anew is a class of its own, in pages of the process
_prctl = ctypes.CDLL(None).prctl

#: fields of /proc/self/stat, counted from the one behind the name: where the command line is in memory
_ARG_START, _ARG_END = 45, 46


def set_title(name: str, title: str, folder: str) -> None:
    """The short name, of which the kernel keeps 15 bytes; and the command line: the title, then the folder.

    The command line is the memory that it was given to the process in, so that there is room for as much.
    """
    _prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    where, room = os.fsencode(folder), end - start
    if start and room > len(where) + 2:
        shown = title.encode()[: room - len(where) - 2]
        ctypes.memmove(start, (shown + b"\0" + where).ljust(room, b"\0"), room)
