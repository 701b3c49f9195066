"""The settings of the section [state.zookeeper], checked."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from pathlib import Path

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.plugins.state.paths import segments_of

_HOST = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")


class Settings(msgspec.Struct, frozen=True):
    """Where ZooKeeper is, with which timeouts and credentials."""

    hosts: str
    root: str
    #: session timeout: seconds without contact after which ZooKeeper considers a process dead
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
            msg = f"state.zookeeper.root is {root!r}, which is not a path such as /heronpy"
            raise StateError(msg) from None
        settings = cls(
            _hosts(config.text("state.zookeeper.hosts")),
            "" if root == "/" else root,
            config.number("state.zookeeper.session"),
            config.number("state.zookeeper.timeout"),
            _credentials(config.text("state.zookeeper.credentials")),
        )
        if not config["state.zookeeper.open"]:
            settings.refuse_open_elsewhere()
        return settings

    def refuse_open_elsewhere(self) -> None:
        """Without credentials, reaching a server is enough to write its nodes."""
        far = [host for host, _ in self.servers if not _is_loopback(host)]
        if far and not self.credentials:
            msg = f"without credentials, all who reach ZooKeeper at {far[0]} decide what your topologies run"
            both = "--set state.zookeeper.credentials=FILE, or --set state.zookeeper.open=true to allow that"
            raise StateError(msg, hint=both)

    @property
    def servers(self) -> list[tuple[str, int]]:
        """Host and port of each."""
        found = []
        for server in self.hosts.split(","):
            match = _HOST.fullmatch(server)
            assert match is not None
            found.append((match[1].strip("[]"), int((match[2] or ":2181")[1:])))
        return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _hosts(text: str) -> str:
    hosts = [host.strip() for host in text.split(",")]
    if not all(_HOST.fullmatch(host) for host in hosts):
        msg = f"state.zookeeper.hosts is {text!r}, which is not HOST:PORT,HOST:PORT,…"
        raise StateError(msg, hint="put a folder into state.zookeeper.root")
    return ",".join(hosts)


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
        raise StateError(msg, hint="name a file with one line, user:password") from error
    if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid not in (os.geteuid(), 0):
        msg = f"other accounts can read the credentials for ZooKeeper in {name}"
        raise StateError(msg, hint=f"chmod 600 {name}")
    user, colon, password = text.partition(":")
    if not (user and colon and password) or "\n" in text:
        msg = f"the credentials for ZooKeeper in {name} do not have the form user:password, on one line"
        raise StateError(msg)
    return text
