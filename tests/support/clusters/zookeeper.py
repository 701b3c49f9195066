"""Real ZooKeeper servers, run from the jars that come with PySpark; no fsync, to be quick."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from support.clusters.servers import ServerProcess, free_ports, pyspark_folder
from support.running.engine import wait_until
from support.suite.needs import needs_java

_OPTIONS = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no")
_JARS = ("zookeeper-3*", "zookeeper-jute-*", "slf4j-api-2*", "metrics-core-*", "snappy-java-*")
_MAIN = "org.apache.zookeeper.server"

_roots = itertools.count(1)


class Server:
    """One server, by the process that it is."""

    def __init__(self, folder: Path, address: str, port: int, main: str, ensemble: str = "") -> None:
        self.address = address
        self.port = port
        self._folder = folder
        self._main = main
        self._process: ServerProcess | None = None
        self._configuration = folder / "zoo.cfg"
        self._configuration.write_text(
            f"tickTime=200\ninitLimit=150\nsyncLimit=50\nmaxSessionTimeout=60000\ndataDir={folder}/data\n"
            f"clientPort={port}\nclientPortAddress={address}\nmaxClientCnxns=0\n"
            f"admin.enableServer=false\n4lw.commands.whitelist=*\n{ensemble}"
        )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        java = ["java", *_OPTIONS, f"-Djava.io.tmpdir={self._folder}", "-cp", _class_path()]
        command = [*java, f"{_MAIN}.{self._main}", str(self._configuration)]
        self._process = ServerProcess(command, self._folder / "log")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def mode(self) -> str:
        """standalone, leader or follower; empty while it does not serve."""
        return next((line[6:] for line in self.say("srvr").splitlines() if line.startswith("Mode: ")), "")

    def say(self, word: str) -> str:
        """One of ZooKeeper's four-letter words, and the answer to it."""
        with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), 1.0) as link:
            link.settimeout(1.0)
            link.sendall(word.encode())
            return b"".join(iter(lambda: link.recv(65536), b"")).decode(errors="replace")
        return ""


class ZooKeeper:
    """One server or an ensemble of several, at an address of this machine."""

    def __init__(self, servers: int, address: str = "127.0.0.1") -> None:
        needs_java()
        self._folder = Path(tempfile.mkdtemp(prefix="hpzk"))
        ports = free_ports(3 * servers, address)
        lines = "".join(
            f"server.{each + 1}={address}:{ports[3 * each + 1]}:{ports[3 * each + 2]}\n"
            for each in range(servers)
        )
        alone = servers == 1
        self.servers = []
        for each in range(servers):
            folder = self._folder / str(each + 1)
            (folder / "data").mkdir(parents=True)
            (folder / "data" / "myid").write_text(str(each + 1))
            main = "ZooKeeperServerMain" if alone else "quorum.QuorumPeerMain"
            ensemble = "" if alone else f"standaloneEnabled=false\n{lines}"
            self.servers.append(Server(folder, address, ports[3 * each], main, ensemble))

    @property
    def hosts(self) -> str:
        return ",".join(f"{server.address}:{server.port}" for server in self.servers)

    def start(self) -> None:
        """Start those that do not run, and wait until all serve."""
        for server in self.servers:
            if not server.runs:
                server.start()
        wait_until(lambda: all(server.mode() for server in self.servers), 60, "ZooKeeper serves")

    def leader(self) -> Server:
        """It may take a moment to say so."""
        found: list[Server] = []

        def known() -> bool:
            found[:] = [server for server in self.servers if server.mode() in ("leader", "standalone")]
            return found != []

        wait_until(known, 30, "there is a leader")
        return found[0]

    def lose_majority(self) -> None:
        """Kill all but one, and wait until that one has noticed."""
        *others, last = self.servers
        for server in others:
            server.kill()
        wait_until(lambda: not last.mode(), 30, "the last server does not serve")

    def close(self) -> None:
        for server in self.servers:
            server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fresh_root(self) -> str:
        """A root that nobody has used."""
        return f"/hp-{os.getpid()}-{next(_roots)}"

    @contextlib.contextmanager
    def client(self, **arguments: object) -> Iterator[KazooClient]:
        """A plain client, to look at what is really there."""
        client = KazooClient(self.hosts, **arguments)
        client.start(timeout=20)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def nodes(self, root: str) -> list[str]:
        """Every znode below a root, without what always stays."""
        with self.client() as client:
            found = []
            waiting = [root] if client.exists(root) else []
            while waiting:
                here = waiting.pop()
                below = []
                with contextlib.suppress(NoNodeError):  # gone since we heard of it
                    below = [f"{here}/{name}" for name in client.get_children(here)]
                waiting += below
                found += below
        return sorted(set(found) - {f"{root}/@guard", f"{root}/@parts"})

    def settings(self, root: str) -> dict[str, str]:
        return {
            "state.manager": "zookeeper",
            "state.zookeeper.hosts": self.hosts,
            "state.zookeeper.root": root,
            # its address may be one that other machines reach
            "state.zookeeper.open": "true",
        }


def _class_path() -> str:
    jars = pyspark_folder() / "jars"
    return os.pathsep.join(str(jar) for pattern in _JARS for jar in sorted(jars.glob(f"{pattern}.jar")))
