"""One small Spark in the process of the tests: two task slots, and Python workers that start quickly."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heronpy.spark import HeronDataSource

_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def start_session(folder: Path) -> SparkSession:
    """Started once: a JVM takes seconds, and the first of everything does in it."""
    with pytest.MonkeyPatch.context() as patch:
        # it belongs to no test, and so to no test's home
        for key in [key for key in os.environ if key.startswith("HERONPY_")]:
            patch.delenv(key)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", str(_quick_python(folder)))
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        session = (
            SparkSession.Builder()
            .master("local[2]")
            .appName("heronpy")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "640m")
            .config("spark.driver.extraJavaOptions", f"{_JAVA} -Dderby.system.home={folder}")
            .config("spark.local.dir", str(folder))
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")  # it tells of every query that a test stops
    HeronDataSource.register(session)
    return session


def _quick_python(folder: Path) -> Path:
    """Spark puts a zip of PySpark in front, which is compiled anew by every worker: four times the work."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return script
