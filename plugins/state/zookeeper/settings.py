"""The settings of the section [state.zookeeper], checked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.plugins.state.paths import segments_of


class Settings(msgspec.Struct, frozen=True):
    """Where ZooKeeper is, and how to behave towards it."""

    hosts: str
    root: str
    #: seconds after which ZooKeeper takes a process for dead that it does not hear of
    session: float
    #: seconds that a call may wait for an answer
    timeout: float
    #: "user:password", or empty
    credentials: str

    @classmethod
    def of(cls, config: Config) -> Settings:
        root = config.text("state.zookeeper.root")
        try:
            segments_of(root)
        except StateError:
            msg = f"state.zookeeper.root is {root!r}, which is no path such as /heronpy"
            raise StateError(msg) from None
        return cls(
            config.text("state.zookeeper.hosts"),
            "" if root == "/" else root,
            config.number("state.zookeeper.session"),
            config.number("state.zookeeper.timeout"),
            _credentials(config.text("state.zookeeper.credentials")),
        )


def _credentials(name: str) -> str:
    if not name:
        return ""
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            text = file.read(4096).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot read the credentials for ZooKeeper in {name}: {error}"
        raise StateError(msg, hint="a file with one line, user:password") from error
    if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid not in (os.geteuid(), 0):
        msg = f"others can read the credentials for ZooKeeper in {name}"
        raise StateError(msg, hint=f"chmod 600 {name}")
    user, colon, password = text.partition(":")
    if not (user and colon and password) or "\n" in text:
        msg = f"the credentials for ZooKeeper in {name} have not the form user:password, on one line"
        raise StateError(msg)
    return text
