"""Which Spark a pipeline runs on: the settings of [scheduler.spark], and what a job needs beside them."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.plugins.scheduler.spark.preflight import ANSWER_SECONDS, check_java, check_master
from heronpy.plugins.scheduler.spark.settings import SparkSettings, chosen, spark_home

_CONNECT = re.compile(r"sc://(?P<host>\[[^\]]+\]|[^\s:/;]+)(:(?P<port>\d{1,5}))?(/\S*)?")
_KINDS = re.compile(r"local(\[.*\])?|spark://.*|yarn|k8s://.*")
_DEFAULT_PORT = 15002
#: Spark takes a configuration without an appender for none, and says so
_SILENT = """\
appender.console.type = Console
appender.console.name = console
rootLogger.level = off
rootLogger.appenderRef.console.ref = console
"""

#: for every session: the tasks of an exchange are ours to count, and few of our rows fit into memory at once
SESSION = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True)
class JobSettings:
    """A master URL, with Spark's own settings."""

    master: str
    #: what the user sets
    conf: dict[str, str]
    #: the Python of workers; empty: Spark's choice
    python: str
    #: for a Spark whose driver is started here
    classic: SparkSettings | None

    @classmethod
    def of(cls, config: Config) -> JobSettings:
        master = config.text("scheduler.spark.master")
        python = config.text("container.python")
        if _CONNECT.fullmatch(master):
            return cls(master, chosen(config.words("scheduler.spark.conf"), ()), python, None)
        if not _KINDS.fullmatch(master):
            msg = f"scheduler.spark.master is {master!r}, which is not a master URL of Spark"
            raise UserError(msg, hint="use local[*], spark://HOST:7077, or sc://HOST:15002")
        conf = chosen(config.words("scheduler.spark.conf"), ())
        classic = SparkSettings.of(config, ())
        return cls(master, conf, conf.get("spark.pyspark.python", python), classic)

    @property
    def local(self) -> bool:
        """Whether workers run in this machine's Python, where all code is."""
        return self.classic is not None and self.classic.local

    def check(self) -> None:
        """One line for whatever is missing or does not answer, within seconds."""
        if spark_home() is None:
            msg = "the runner 'spark' needs PySpark, which is not installed"
            raise UserError(msg, hint="pip install 'heron-py[spark]'")
        if self.classic is not None:
            check_java()
            check_master(self.classic)
        else:
            self._check_server()

    def application(self, pipeline: str, folder: Path) -> dict[str, str]:
        """Spark's settings for an application of our own."""
        assert self.classic is not None
        log = folder / "log4j2.properties"
        log.write_text(_SILENT)
        options = self.conf.get("spark.driver.extraJavaOptions", "")
        address = self.classic.own_address()
        return {
            "spark.driver.host": address,
            "spark.driver.bindAddress": address,
            "spark.log.level": "OFF",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **SESSION,
            **self.conf,
            "spark.driver.extraJavaOptions": (
                f'"-Djava.io.tmpdir={folder}" "-Dlog4j2.configurationFile={log}" {options}'
            ),
            "spark.master": self.master,
            "spark.app.name": f"heronpy {pipeline}",
        }

    def _check_server(self) -> None:
        found = _CONNECT.fullmatch(self.master)
        assert found is not None
        host, port = found["host"].strip("[]"), int(found["port"] or _DEFAULT_PORT)
        try:
            socket.create_connection((host, port), ANSWER_SECONDS).close()
        except OSError as error:
            why = str(error.strerror or error).lower()
            msg = f"no Spark Connect server answers at {self.master} ({host}:{port}: {why})"
            raise UserError(
                msg, hint="start one with sbin/start-connect-server.sh, or name its port"
            ) from None
