"""Settings of a JVM that starts fast and stays small, with an archive of Spark's classes as they are loaded.

A driver then takes 2 s of CPU less until it serves, an executor 1 s. The archive is made once for the jars
that are installed and kept in ~/.cache/heronpy-tests.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import subprocess
import sys
from pathlib import Path

from support.clusters.servers import pyspark_folder, running

_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_CACHE = Path("~/.cache/heronpy-tests").expanduser()

#: loads what a driver, its pages and a task in Python need; queries would double the time that it takes
_APPLICATION = """
import sys
from pyspark import SparkConf, SparkContext
options = {"spark.driver.extraJavaOptions": sys.argv[1], "spark.driver.bindAddress": "127.0.0.1"}
context = SparkContext("local[1]", conf=SparkConf().setAll(options.items()))
context.parallelize([1], 1).map(str).collect()
gateway = context._gateway
context.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


@functools.cache
def spark_java() -> str:
    """For every JVM that has Spark's jars as its class path; one with other jars ignores the archive."""
    return f"{_SMALL} -XX:SharedArchiveFile={_archive()} -Xlog:disable -Xlog:all=error:stderr"


def _archive() -> Path:
    jars = pyspark_folder() / "jars"
    # a JVM takes no archive of jars that were at another place, or of another time
    known = "\n".join(f"{jar} {jar.stat().st_mtime_ns}" for jar in sorted(jars.iterdir()))
    java = subprocess.run(["java", "-version"], capture_output=True, check=True).stderr
    name = hashlib.sha256(known.encode() + java).hexdigest()[:16]
    archive = _CACHE / f"spark-{name}.jsa"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "archive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _make(archive)
    return archive


def _make(archive: Path) -> None:
    draft = archive.with_suffix(".unfinished")
    draft.unlink(missing_ok=True)
    options = f"{_SMALL} -XX:ArchiveClassesAtExit={draft}"
    with subprocess.Popen(
        [sys.executable, "-c", _APPLICATION, options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as application:
        # like a server, it is not of the test that happens to run
        running.add(str(application.pid))
        said, _ = application.communicate()
        running.discard(str(application.pid))
    assert draft.exists(), said
    draft.rename(archive)
