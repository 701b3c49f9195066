"""Whether a settings file that was found, not named, may be used: it decides which code runs."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from heronpy.kernel.errors import ConfigError

#: bits of a mode that let other accounts write
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_trusted(path: Path) -> str:
    """The text of a settings file; ConfigError if another account could have written it."""
    # what is checked is what is read: the path may lead elsewhere a moment later
    with path.open("rb") as file:
        _check(path, path, os.fstat(file.fileno()))
        # which file is found is decided by its folder, and by a link and the folder that it leads to
        _check(path, path.parent, path.parent.stat())
        if path.is_symlink():
            _check(path, path, path.lstat())
            _check(path, path.resolve().parent, path.resolve().parent.stat())
        return file.read().decode("utf-8")


def _check(path: Path, seen: Path, status: os.stat_result) -> None:
    what = f"the settings file {path} is not used: {seen.absolute()}"
    by_name = f"pass --config {path} to name it explicitly"
    if status.st_uid not in (os.geteuid(), 0):
        msg = f"{what} belongs to {_account(status.st_uid)}"
        raise ConfigError(msg, hint=f"{by_name}, or chown it to your account")
    if stat.S_ISLNK(status.st_mode) or not _others_may_write(status):
        return
    msg = f"{what} can be written by other accounts (mode {stat.S_IMODE(status.st_mode):04o})"
    if status.st_mode & stat.S_ISVTX:
        # a folder such as /tmp: its mode is as it should be, so the hint is not chmod
        raise ConfigError(msg, hint=f"{by_name}, or move it to another folder")
    raise ConfigError(msg, hint=f"chmod go-w {seen.absolute()}, or {by_name}")


def _others_may_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _only_ours(status.st_gid)


def _only_ours(group: int) -> bool:
    """Whether the group has no other member: many systems give each account its own group."""
    trusted = {os.geteuid(), 0}
    try:
        members = grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    others = (each for each in pwd.getpwall() if each.pw_uid not in trusted)
    return not any(each.pw_gid == group or each.pw_name in members for each in others)


def _account(uid: int) -> str:
    try:
        return f"the account {pwd.getpwuid(uid).pw_name!r}"
    except KeyError:
        return f"the account with the id {uid}"
