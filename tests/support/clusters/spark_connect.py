"""A Spark Connect server with two task slots, from the jars of PySpark."""

from __future__ import annotations

import socket
from pathlib import Path

from support.clusters.servers import ServerProcess, free_ports, pyspark_folder
from support.clusters.small_java import spark_java
from support.running.engine import wait_until
from support.suite.needs import needs_java


class SparkConnect:
    """Its files are in `folder`; `python` is that of its workers."""

    def __init__(self, folder: Path, python: str) -> None:
        needs_java()
        self._folder = folder
        [self._port] = free_ports(1)
        settings = {
            "spark.master": "local[2]",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} {spark_java()}",
            "spark.ui.enabled": "false",
        }
        words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        home = pyspark_folder()
        self._server = ServerProcess(
            [
                str(home / "bin" / "spark-submit"),
                *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
                *words,
                "spark-internal",
            ],
            folder / "server.log",
            {"SPARK_HOME": str(home), "PYSPARK_PYTHON": python, "SPARK_LOCAL_DIRS": str(folder)},
        )
        wait_until(self._answers, 120, "the Connect server answers", self._log)

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self._port}"

    def close(self) -> None:
        self._server.kill()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True

    def _log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")[-4000:]
