"""The folder that holds a tree: made private, and refused when it belongs to another user."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from heronpy.kernel.errors import StateError
from heronpy.kernel.machine.durable import make_durable, sync
from heronpy.plugins.state.localfs.descriptor import Descriptor
from heronpy.plugins.state.localfs.sessions import SESSIONS
from heronpy.plugins.state.localfs.tree import TMP

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_root(folder: Path) -> Descriptor:
    """Make the folder if needed, remove access of others, and open it."""
    try:
        make_durable(folder.parent)
    except (FileExistsError, FileNotFoundError, NotADirectoryError):
        msg = f"{folder.parent} is not a folder and cannot be made one"
        raise StateError(msg, hint="set `home` to another folder") from None
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        sync(folder.parent)
    if not stat.S_ISDIR(folder.lstat().st_mode):
        msg = f"the state folder {folder} is not a folder"
        raise StateError(msg, hint="move it away, or set `home` to another folder")
    root = Descriptor(os.open(folder, _FOLDER))
    try:
        _make_private(root, folder)
        for name in (TMP, SESSIONS):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=root.fileno())
            os.close(os.open(name, _FOLDER, dir_fd=root.fileno()))  # refuses a symbolic link
    except BaseException:
        root.close()
        raise
    return root


def _make_private(root: Descriptor, folder: Path) -> None:
    found = os.fstat(root.fileno())
    if found.st_uid != os.geteuid():
        msg = f"the state folder {folder} belongs to user {found.st_uid}, and you are user {os.geteuid()}"
        raise StateError(msg, hint="set `home` to a folder of your own")
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.fchmod(root.fileno(), 0o700)
