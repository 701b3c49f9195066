"""A real YARN: a ResourceManager here, and a NodeManager on each of the machines that we reach."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from support.clusters.reachable import ReachableNetwork
from support.clusters.servers import ServerProcess, free_ports
from support.clusters.yarn_jars import server_jars
from support.running.engine import wait_until
from support.suite.needs import needs_java

_JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_OPEN = "--add-opens=java.base/java.lang=ALL-UNNAMED"
_MAIN = "org.apache.hadoop.yarn.server"

#: what each NodeManager says it has, and what one container may have: only accounting
NODE_MB, LARGEST_MB = 12288, 8192

_LOG = """log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n
"""

_QUEUES = {
    "root.queues": "default,small,closed",
    "root.default.capacity": "90",
    "root.default.maximum-capacity": "100",
    "root.small.capacity": "10",
    "root.small.maximum-capacity": "10",
    "root.closed.capacity": "0",
    "root.closed.state": "STOPPED",
    "maximum-am-resource-percent": "1.0",
    "node-locality-delay": "-1",
    "root.default.user-limit-factor": "10",
}


class YarnCluster:
    """Nodes share our file system and nothing else: they reach us and each other by network only."""

    def __init__(self, network: ReachableNetwork) -> None:
        needs_java()
        self._network = network
        self.machines = network.machines
        self._root = Path(tempfile.mkdtemp(prefix="hpyn"))
        self._ports = free_ports(5, network.here)
        self._manager: ServerProcess | None = None
        self._nodes: dict[str, ServerProcess] = {}
        #: what a user's HADOOP_CONF_DIR holds
        self.conf = self._root / "conf"

    def start(self) -> None:
        """Start who does not run, and wait until all are there."""
        if self._manager is None:
            self._write(self.conf, self._site())
            queues = {f"yarn.scheduler.capacity.{name}": value for name, value in _QUEUES.items()}
            (self.conf / "capacity-scheduler.xml").write_text(_xml(queues))
            self._manager = self._run("resourcemanager.ResourceManager", self.conf)
            wait_until(self._answers, 90, "the ResourceManager answers", self._log_tails)
        for machine in self.machines:
            if machine not in self._nodes:
                self._nodes[machine] = self._start_node(machine)
        wait_until(
            lambda: self._active() == len(self.machines), 90, "the NodeManagers are there", self._log_tails
        )

    def kill_manager(self) -> None:
        assert self._manager is not None
        self._manager.kill()
        self._manager = None

    def kill_node(self, machine: str) -> None:
        """The NodeManager; its containers are orphans then, and live on."""
        self._nodes.pop(machine).kill()

    def folder(self, machine: str) -> Path:
        """The machine's folder for temporary files, and for the NodeManager's."""
        return self._root / str(self.machines.index(machine) + 1)

    def settings(self) -> dict[str, str]:
        return {"scheduler.name": "yarn", "scheduler.yarn.conf": str(self.conf)}

    def applications(self) -> list[dict[str, Any]]:
        found: dict[str, Any] = self.ask("apps")["apps"] or {}
        return list(found.get("app", []))

    def ask(self, what: str) -> dict[str, Any]:
        """The ResourceManager's own words about the cluster."""
        address = f"http://{self._network.here}:{self._ports[4]}/ws/v1/cluster/{what}"
        with urllib.request.urlopen(address, timeout=5) as answer:
            said: dict[str, Any] = json.load(answer)
        return said

    def close(self) -> None:
        for server in [*self._nodes.values(), *filter(None, [self._manager])]:
            server.kill()
        shutil.rmtree(self._root, ignore_errors=True)

    def _start_node(self, machine: str) -> ServerProcess:
        folder, address = self.folder(machine), self._network.address(machine)
        folder.mkdir(exist_ok=True)
        conf = folder / "conf"
        own = {
            "yarn.nodemanager.hostname": address,
            "yarn.nodemanager.local-dirs": f"{folder}/local",
            "yarn.nodemanager.log-dirs": f"{folder}/logs",
            "yarn.nodemanager.env-whitelist": "JAVA_HOME,TMPDIR",
            "yarn.nodemanager.resource.memory-mb": str(NODE_MB),
            "yarn.nodemanager.resource.cpu-vcores": "32",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        }
        self._write(conf, {**self._site(), **own})
        front = self._network.inside(machine)
        return self._run("nodemanager.NodeManager", conf, front, TMPDIR=str(folder))

    def _site(self) -> dict[str, str]:
        names = (
            "address",
            "scheduler.address",
            "resource-tracker.address",
            "admin.address",
            "webapp.address",
        )
        here = self._network.here
        return {
            **{
                f"yarn.resourcemanager.{name}": f"{here}:{port}"
                for name, port in zip(names, self._ports, strict=True)
            },
            "yarn.resourcemanager.hostname": here,
            "yarn.resourcemanager.am.max-attempts": "50",
            "yarn.resourcemanager.recovery.enabled": "true",
            "yarn.resourcemanager.store.class": f"{_MAIN}.resourcemanager.recovery.FileSystemRMStateStore",
            "yarn.resourcemanager.fs.state-store.uri": f"file://{self._root}/store",
            "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "5000",
            "yarn.scheduler.minimum-allocation-mb": "64",
            "yarn.scheduler.maximum-allocation-mb": str(LARGEST_MB),
            "yarn.scheduler.maximum-allocation-vcores": "16",
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "yarn.node-attribute.fs-store.root-dir": f"file://{self._root}/attributes",
            "yarn.nm.liveness-monitor.expiry-interval-ms": "6000",
            "yarn.am.liveness-monitor.expiry-interval-ms": "60000",
        }

    def _write(self, conf: Path, site: Mapping[str, str]) -> None:
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "yarn-site.xml").write_text(_xml(site))
        core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": f"{conf.parent}/hadoop"}
        (conf / "core-site.xml").write_text(_xml(core))
        (conf / "log4j.properties").write_text(_LOG)

    def _run(self, main: str, conf: Path, front: tuple[str, ...] = (), **environment: str) -> ServerProcess:
        java = [*_JAVA, _OPEN, f"-Djava.io.tmpdir={conf.parent}", "-cp", f"{conf}:{server_jars()}/*"]
        command = [*front, *java, f"{_MAIN}.{main}"]
        return ServerProcess(command, conf.parent / f"{main}.log", environment)

    def _answers(self) -> bool:
        return self._active() is not None

    def _active(self) -> int | None:
        """NodeManagers that the ResourceManager has; None while it does not answer."""
        try:
            return int(self.ask("metrics")["clusterMetrics"]["activeNodes"])
        except OSError:
            return None

    def _log_tails(self) -> str:
        logs = sorted(self._root.glob("**/*Manager.log"))
        return "\n".join(f"== {log}\n{log.read_text(errors='replace')[-3000:]}" for log in logs)


def _xml(properties: Mapping[str, str]) -> str:
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    return "<configuration>\n" + "\n".join(lines) + "\n</configuration>\n"
