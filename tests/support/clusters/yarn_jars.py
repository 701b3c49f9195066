"""The jars of YARN's servers, fetched once by Maven and kept in ~/.cache/heronpy-tests."""

from __future__ import annotations

import contextlib
import fcntl
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.clusters.servers import pyspark_folder, running
from support.suite.needs import needs, needs_command

_POM = Path(__file__).parent / "yarn" / "pom.xml"
_CACHE = Path("~/.cache/heronpy-tests").expanduser()


def server_jars() -> Path:
    """The folder that they are in."""
    (client,) = (pyspark_folder() / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    folder = _CACHE / f"yarn-{version}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(version, folder)
    return folder


def fetch_ahead() -> None:
    """Have them here before a test needs them; if that fails, that test says why."""
    with contextlib.suppress(OSError, RuntimeError, pytest.skip.Exception):
        server_jars()


def _fetch(version: str, folder: Path) -> None:
    needs_command("mvn", "Maven")
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = ["mvn", "-B", "-q", "-f", str(_POM), "dependency:copy-dependencies"]
    command += [f"-Dhadoop.version={version}", f"-DoutputDirectory={unfinished}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL
    ) as maven:
        # like a server, it is not of the test that happens to run
        running.add(str(maven.pid))
        said, _ = maven.communicate()
        running.discard(str(maven.pid))
    print(said)
    needs(maven.returncode == 0, f"Maven cannot fetch YARN's servers {version} (try: {shlex.join(command)})")
    unfinished.rename(folder)
