"""Pipelines as Spark jobs: on this machine, on a cluster with two Workers, and over Spark Connect."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
from support.clusters.spark_application import quick
from support.clusters.spark_cluster import SparkCluster
from support.clusters.spark_connect import SparkConnect
from support.clusters.spark_workers import TRAVELS, python_without
from support.running.engine import wait_until
from support.running.signals import hear_signals
from support.suite.needs import needs_java

from heronpy.testing.contracts.runner import RunnerContract

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
HERONPY = (str(Path(sys.executable).parent / "heronpy"),)


class SparkContract(RunnerContract):
    runner = "spark"
    refuses: ClassVar[Mapping[str, str]] = {
        "sources that never end": "sources that never end",
        "windows": "windows",
        "event time": "event time",
    }
    chosen: ClassVar[dict[str, object]] = {}

    def settings(self) -> Mapping[str, object]:
        return self.chosen


class TestOnThisMachine(SparkContract):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls) -> None:
        needs_java()
        conf = ",".join(quick())
        cls.chosen = {"scheduler.spark.master": "local[2]", "scheduler.spark.conf": conf}


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of workers that have no heronpy, nor what it needs: all of it travels."""
    return python_without(TRAVELS, tmp_path_factory.mktemp("workers"))


class TestOnACluster(SparkContract):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls, spark_cluster_of_the_run: SparkCluster, bare_python: str) -> None:
        # one executor on each Worker
        more = ("spark.executor.cores=1", "spark.cores.max=2", "spark.task.maxFailures=1")
        cls.chosen = {
            "scheduler.spark.master": spark_cluster_of_the_run.url,
            "scheduler.spark.conf": ",".join((*quick(), spark_cluster_of_the_run.executors, *more)),
            "container.python": bare_python,
        }


class TestOverConnect(SparkContract):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls, tmp_path_factory: pytest.TempPathFactory, bare_python: str) -> Iterator[None]:
        server = SparkConnect(tmp_path_factory.mktemp("connect"), bare_python)
        cls.chosen = {"scheduler.spark.master": server.url}
        yield
        server.close()

    def test_a_setting_that_belongs_to_the_start_of_the_server_is_named(self, tmp_path: Path) -> None:
        file = tmp_path / "numbers.py"
        file.write_text(NUMBERS)
        said = run(file, str(self.chosen["scheduler.spark.master"]), conf="spark.executor.memory=1g")
        begins, error = said.splitlines()
        assert begins.startswith("numbers runs as a Spark job at sc://")
        assert re.match(
            r"error: the Spark Connect server does not let a session set spark\.executor\.memory: .*"
            r" \(try: set it where the server is started, and not in scheduler\.spark\.conf\)$",
            error,
        ), error


def run(
    file: Path, master: str = "local[2]", heronpy: tuple[str, ...] = HERONPY, conf: str = "", **more: str
) -> str:
    """What is said of a run that fails; nothing is on standard output."""
    settings = ("--set", f"scheduler.spark.master={master}", "--set", f"scheduler.spark.conf={conf}")
    done = subprocess.run(
        [*heronpy, "run", str(file), "--runner", "spark", *settings],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


NUMBERS = """\
from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

p = Pipeline("numbers")
p.read(sources.items([1, 2])).write(sinks.printed())
"""


def test_without_java_or_spark_it_is_one_line_within_seconds(tmp_path: Path) -> None:
    file = tmp_path / "numbers.py"
    file.write_text(NUMBERS)
    assert run(file, JAVA_HOME="/nowhere") == (
        "error: Spark needs Java, and /nowhere/bin/java does not run: [Errno 2] No such file or directory:"
        " '/nowhere/bin/java' (try: install Java 17 or newer, or set JAVA_HOME)\n"
    )
    assert run(file, "spark:7077") == (
        "error: scheduler.spark.master is 'spark:7077', which is not a master URL of Spark"
        " (try: use local[*], spark://HOST:7077, or sc://HOST:15002)\n"
    )
    assert run(file, "spark://127.0.0.1:1") == (
        "error: no Spark Master answers at spark://127.0.0.1:1 (127.0.0.1:1: connection refused)"
        " (try: use the address that the Master's web page shows as its URL)\n"
    )
    assert run(file, "sc://127.0.0.1:1") == (
        "error: no Spark Connect server answers at sc://127.0.0.1:1 (127.0.0.1:1: connection refused)"
        " (try: start one with sbin/start-connect-server.sh, or name its port)\n"
    )
    python = python_without(("pyspark", "__editable__"), tmp_path, ROOT)
    main = "import sys; from heronpy.cli.main import main; sys.exit(main())"
    assert run(file, heronpy=(python, "-P", "-c", main)) == (
        "error: the runner 'spark' needs PySpark, which is not installed"
        " (try: pip install 'heron-py[spark]')\n"
    )


REPEATED = """\
from pathlib import Path

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

folder = Path({folder!r})


def fails_once(n):
    if n == 9000 and not (folder / "failed").exists():
        (folder / "failed").touch()
        raise OSError("the disk is busy")
    return n


p = Pipeline("repeated")
numbers = p.read(sources.items(range(10_000), parts=2)).map(fails_once)
numbers.write(sinks.files(folder / "files"))
numbers.map(lambda n: (n,)).write(sinks.sqlite(folder / "rows.db", "numbers", columns=["n"]))
"""


def test_what_a_repeated_task_writes_is_there_once(tmp_path: Path) -> None:
    needs_java()
    file = tmp_path / "repeated.py"
    file.write_text(REPEATED.format(folder=str(tmp_path)))
    conf = (
        "--set",
        "scheduler.spark.master=local[2,2]",
        "--set",
        f"scheduler.spark.conf={','.join(quick())}",
    )
    done = subprocess.run(
        [*HERONPY, "run", str(file), "--runner", "spark", *conf], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    begins, totals = done.stderr.splitlines()
    assert begins == "repeated runs as a Spark job at local[2,2]"
    assert re.fullmatch(
        r"repeated: read 10,000 records \(items\), wrote 20,000 \(files 10,000, sqlite 10,000\) in .* s;"
        r" nothing failed",
        totals,
    )
    lines = [int(line) for each in tmp_path.glob("files/*.txt") for line in each.read_text().split()]
    assert sorted(lines) == list(range(10_000))
    with contextlib.closing(sqlite3.connect(tmp_path / "rows.db")) as database:
        rows = database.execute("SELECT n FROM numbers").fetchall()
    assert sorted(rows) == [(n,) for n in range(10_000)]
    assert (tmp_path / "failed").exists()
    assert [path for path in tmp_path.rglob("*uncommitted/*") if path.is_file()] == []


SLOW = """\
import time
from pathlib import Path

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

folder = Path({folder!r})


def slow(n):
    (folder / "begun").touch()
    time.sleep(60)
    return n


p = Pipeline("slow")
p.read(sources.items(range(100))).map(slow).write(sinks.files(folder / "files"))
"""


def test_ctrl_c_ends_the_job_and_leaves_nothing(tmp_path: Path) -> None:
    needs_java()
    file = tmp_path / "slow.py"
    file.write_text(SLOW.format(folder=str(tmp_path)))
    conf = ("--set", f"scheduler.spark.conf={','.join(quick())}")
    with subprocess.Popen(
        [*HERONPY, "run", str(file), "--runner", "spark", *conf],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    ) as command:
        wait_until((tmp_path / "begun").exists, 120, "the job runs")
        started = psutil.Process(command.pid).children(recursive=True)
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=60)
    assert (command.returncode, out) == (130, "")
    assert err.splitlines()[:2] == [
        "slow runs as a Spark job at local[*]",
        "slow is stopped; what it had committed stays",
    ]
    assert psutil.wait_procs(started, timeout=20)[1] == []
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
