"""Folders and files that belong to this account alone, in places that other accounts use as well.

Imports the standard library alone: the package for other machines has a copy, see container/remote/parcel/.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

#: bytes in the path of a folder that sockets' folders are made in: the path of a socket holds 107, and
#: "/heronpy-UID-EXECUTION/sockets/CONTAINER/metrics" follows
PLACE_BYTES = 45


class NotPrivate(OSError):
    """Another account could write there, or replace it. The message has the path and the reason."""


def own_folder(folder: Path) -> Path:
    """The folder, made if it is missing; NotPrivate unless it is this account's, with mode 0700."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    require_private(folder)
    return folder


def require_private(folder: Path) -> None:
    """NotPrivate unless it is a folder of this account, no symbolic link, with mode 0700."""
    require_ours(folder)
    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & 0o077:
        msg = f"{folder} is open to other accounts (mode {mode:04o})"
        raise NotPrivate(msg)


def require_ours(folder: Path) -> None:
    """NotPrivate unless it is a folder of this account, no symbolic link."""
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        msg = f"{folder} is a symbolic link"
        raise NotPrivate(msg)
    if not stat.S_ISDIR(found.st_mode):
        msg = f"{folder} is not a folder"
        raise NotPrivate(msg)
    _require_owner(folder, found)


def keep_others_out(folder: Path) -> None:
    """Withdraw the permissions of others if they may write there; NotPrivate if it is not this account's."""
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    _require_owner(folder, found)
    if found.st_mode & 0o022:
        with contextlib.suppress(OSError):  # a file system may know no modes, or be read-only
            folder.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def require_unplanted(path: Path) -> None:
    """NotPrivate if another account made it, or a link on the way to it, where every account may do that.

    The kernel's own rule for links (fs.protected_symlinks), for folders as well and on machines without it.
    """
    absolute = path.absolute()
    resolved = absolute.resolve()
    for each in (*absolute.parents, absolute, *resolved.parents, resolved):
        try:
            above, found = each.parent.stat(), each.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if above.st_mode & 0o002 and found.st_uid not in (os.geteuid(), above.st_uid):
            _require_owner(each, found)


def require_own_way(root: Path, path: str | os.PathLike[str]) -> None:
    """NotPrivate if another account made anything on the way from the folder down to the path.

    Strings, because the names of checkpoint objects are new each time: see kernel/machine/durable.py.
    """
    each, top = os.fspath(path), str(root)
    while each != top and each != os.path.dirname(each):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            _require_owner(each, os.lstat(each))
        each = os.path.dirname(each)


def require_all_ours(folder: Path) -> None:
    """NotPrivate if anything in it belongs to another account: a file to write through, or a link."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _require_owner(folder, folder.lstat())
        for where, folders, files in os.walk(folder):
            for name in (*folders, *files):
                with contextlib.suppress(FileNotFoundError):
                    _require_owner(Path(where, name), Path(where, name).lstat())


def _require_owner(folder: str | Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        msg = f"{folder} belongs to user {found.st_uid}, and you are user {os.geteuid()}"
        raise NotPrivate(msg)


def temporary_place() -> Path:
    """The system's temporary folder, or /tmp if its path is too long or others can rename in it."""
    chosen = Path(tempfile.gettempdir())
    try:
        require_place(chosen)
    except NotPrivate:
        require_place(Path("/tmp"))
        return Path("/tmp")
    return chosen


def require_place(folder: Path) -> None:
    """NotPrivate if a folder made there could be exchanged by another account, or has too long a path."""
    if len(os.fsencode(folder)) > PLACE_BYTES:
        msg = f"{folder} has too long a path for sockets"
        raise NotPrivate(msg)
    # the owner of "/" controls the machine anyway; in a user namespace its id is not 0
    trusted = {0, os.geteuid(), os.stat("/").st_uid}
    resolved = folder.resolve()
    for each in (resolved, *resolved.parents):
        require_sticky(each)
        owner = each.stat().st_uid
        if owner not in trusted:
            msg = f"{each} belongs to user {owner}"
            raise NotPrivate(msg)


def require_sticky(folder: Path, others: int = 0o022) -> None:
    """NotPrivate if accounts that may write there could remove files of this account."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & others and not mode & stat.S_ISVTX:
        msg = f"other accounts may remove what is in {folder} (mode {mode:04o})"
        raise NotPrivate(msg)


def make_private(folder: Path) -> None:
    """Make the folder and its missing parents, each with mode 0700 whatever the umask is."""
    if not folder.is_dir():
        if not folder.parent.is_dir():
            make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def private(path: str, flags: int) -> int:
    """For `open(…, opener=private)`: a file that it makes is for this account alone."""
    return os.open(path, flags, 0o600)


def readable(path: str, flags: int) -> int:
    """For `open(…, opener=readable)`: others may read it as the umask has it, and not write it."""
    return os.open(path, flags, 0o644)
