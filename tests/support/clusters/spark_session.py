"""One small Spark in the process of the tests: two task slots, and Python workers that start quickly."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.clusters.small_java import spark_java
from support.suite.needs import needs_java

from heronpy.spark import HeronDataSource

_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "640m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
}


def small_spark(folder: Path) -> dict[str, str]:
    """The environment in which a PySpark script has such a Spark."""
    java = f"-Djava.io.tmpdir={folder} {spark_java()}"
    settings = {**_SETTINGS, "spark.driver.extraJavaOptions": java}
    arguments = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": str(_quick_python(folder)),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": shlex.join([*arguments, "pyspark-shell"]),
    }


def start_session(folder: Path) -> SparkSession:
    """Started once: a JVM takes seconds, and the first of everything does in it."""
    needs_java()
    with pytest.MonkeyPatch.context() as patch:
        # it belongs to no test, and so to no test's home
        for key in [key for key in os.environ if key.startswith("HERONPY_")]:
            patch.delenv(key)
        for key, value in small_spark(folder).items():
            patch.setenv(key, value)
        session = SparkSession.Builder().master("local[2]").appName("heronpy").getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # it tells of every query that a test stops
    HeronDataSource.register(session)
    return session


def _quick_python(folder: Path) -> Path:
    """Spark puts a zip of PySpark in front, which is compiled anew by every worker: four times the work."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return script
