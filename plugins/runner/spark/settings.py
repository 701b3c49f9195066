"""Which Spark a pipeline runs on: the settings of [scheduler.spark], and what a job needs beside them."""

from __future__ import annotations

import re
import socket
import sys
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
    # a repeated task may send rows to other tasks than before: then all that read them are repeated, too
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
}

#: tasks are counted when all executors of spark.cores.max are there, or after a moment
_ALL_EXECUTORS = {
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "5s",
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
            shown = master.partition("/;")[0]
            msg = f"scheduler.spark.master is {shown!r}, which is not a master URL of Spark"
            raise UserError(msg, hint="use local[*], spark://HOST:7077, or sc://HOST:15002")
        conf = chosen(config.words("scheduler.spark.conf"), ())
        classic = SparkSettings.of(config, ())
        return cls(master, conf, classic.conf.get("spark.pyspark.python") or python, classic)

    @property
    def place(self) -> str:
        """The master as it may be shown: what follows the address can be a token."""
        return self.master.partition("/;")[0]

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
            _check_no_spark_runs_here()
            check_java()
            check_master(self.classic)
        else:
            self._check_server()

    def application(self, pipeline: str, folder: Path) -> dict[str, str]:
        """Spark's settings for an application of our own."""
        assert self.classic is not None
        log = folder / "log4j2.properties"
        log.write_text(_SILENT)
        options = self.classic.conf.get("spark.driver.extraJavaOptions", "")
        address = self.classic.own_address()
        own = {
            "spark.driver.host": address,
            "spark.driver.bindAddress": address,
            "spark.log.level": "OFF",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **({} if self.local else _ALL_EXECUTORS),
        }
        return {
            **{key: value for key, value in own.items() if key not in self.classic.conf},
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
            msg = f"no Spark Connect server answers at {self.place} ({host}:{port}: {why})"
            raise UserError(
                msg, hint="start one with sbin/start-connect-server.sh, or name its port"
            ) from None


def _check_no_spark_runs_here() -> None:
    """A JVM of the user's, as in a notebook, would be shared, and end with the job."""
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        if SparkContext._active_spark_context is not None or SparkContext._gateway is not None:
            msg = "this process has a Spark of its own already, and the runner 'spark' starts another"
            raise UserError(msg, hint="use a process without one: heronpy run FILE --runner spark")
