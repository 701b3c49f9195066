"""A real Spark standalone cluster: a Master here, and a Worker on each of the machines that we reach."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from support.clusters.reachable import ReachableNetwork
from support.clusters.servers import ServerProcess, free_ports, pyspark_folder
from support.clusters.small_java import spark_java
from support.running.engine import wait_until
from support.suite.needs import needs_java

#: slots of each Worker: only accounting, there are not as many cores
SLOTS = 6


class SparkCluster:
    """The Workers' Python is bare: what a container needs beyond it must be shipped."""

    def __init__(self, network: ReachableNetwork) -> None:
        needs_java()
        self._network = network
        self._folder = Path(tempfile.mkdtemp(prefix="hpsp"))
        self._port, self._ui = free_ports(2, network.here)
        self._master: ServerProcess | None = None
        self._workers: dict[str, ServerProcess] = {}
        #: what Spark is told to use, and what that becomes
        self.python = str(self._folder / "python")
        self.bare_python = str(self._folder / "bare" / "bin" / "python")
        self.machines = network.machines

    @property
    def url(self) -> str:
        return f"spark://{self._network.here}:{self._port}"

    @property
    def executors(self) -> str:
        """A setting of Spark's: their temporary files end with the cluster, too."""
        return f"spark.executor.extraJavaOptions=-Djava.io.tmpdir={self._folder} {spark_java()}"

    def start(self) -> None:
        """Start who does not run, and wait until all are there."""
        if not Path(self.python).exists():
            self._make_python()
        if self._master is None:
            where = ("--host", self._network.here, "--port", str(self._port), "--webui-port", str(self._ui))
            self._master = self._run(("master.Master", *where), self._network.here)
            wait_until(self._master_answers, 60, "the Spark Master answers", self._log_tails)
        for machine in self.machines:
            if machine not in self._workers:
                self._workers[machine] = self._start_worker(machine)
        wait_until(lambda: self._alive() == len(self.machines), 60, "the Workers are there", self._log_tails)

    def kill_master(self) -> None:
        """It has nothing that it could remember when it is back."""
        if self._master is not None:
            self._master.kill()
            self._master = None

    def kill_worker(self, machine: str) -> None:
        self._workers.pop(machine).kill()

    def address(self, machine: str) -> str:
        return self._network.address(machine)

    def granted(self) -> tuple[int, list[int]]:
        """Cores that are in use, and the megabytes of every executor."""
        cores, megabytes = 0, []
        for machine in self.machines:
            with urllib.request.urlopen(f"http://{self.address(machine)}:8081/json/", timeout=10) as answer:
                worker = json.load(answer)
            cores += worker["coresused"]
            megabytes += [executor["memory"] for executor in worker["executors"]]
        return cores, megabytes

    def folder(self, machine: str) -> Path:
        """The machine's folder for temporary files."""
        return self._folder / str(self.machines.index(machine) + 1)

    def close(self) -> None:
        for server in [*self._workers.values(), *filter(None, [self._master])]:
            server.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make_python(self) -> None:
        """Spark puts a zip of PySpark in front, which every worker would compile anew."""
        bare, unpacked = self._folder / "bare", self._folder / "pyspark"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
        for archive in (pyspark_folder() / "python" / "lib").glob("*.zip"):
            shutil.unpack_archive(archive, unpacked)
        script = Path(self.python)
        script.write_text(
            f'#!/bin/sh\ncase "$PYTHONPATH" in *pyspark.zip*) export PYTHONPATH={unpacked} ;; esac\n'
            f'exec {self.bare_python} "$@"\n'
        )
        script.chmod(0o755)

    def _start_worker(self, machine: str) -> ServerProcess:
        address = self._network.address(machine)
        folder = self.folder(machine)
        folder.mkdir(exist_ok=True)
        command = ("worker.Worker", "--host", address, "--cores", str(SLOTS), "--memory", "6g")
        work = ("--work-dir", str(folder / "work"), self.url)
        return self._run((*command, *work), address, self._network.inside(machine), str(folder))

    def _run(
        self, command: tuple[str, ...], address: str, front: tuple[str, ...] = (), temporary: str = ""
    ) -> ServerProcess:
        main, *arguments = command
        home, folder = pyspark_folder(), temporary or str(self._folder)
        environment = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": address,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_DAEMON_JAVA_OPTS": f"-Djava.io.tmpdir={folder} {spark_java()}",
            "TMPDIR": folder,
            "SPARK_LOCAL_DIRS": folder,
        }
        spark_class = str(home / "bin" / "spark-class")
        return ServerProcess(
            [*front, spark_class, f"org.apache.spark.deploy.{main}", *arguments],
            self._folder / f"{main}-{address}.log",
            environment,
        )

    def _master_answers(self) -> bool:
        return self._alive() is not None

    def _alive(self) -> int | None:
        """Workers that the Master has; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self._network.here}:{self._ui}/json/", timeout=2) as answer:
                workers = json.load(answer)["workers"]
        except (OSError, ValueError):  # its pages come up one after another
            return None
        return [worker["state"] for worker in workers].count("ALIVE")

    def _log_tails(self) -> str:
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)
