"""The jars of YARN's servers, fetched once by Maven and kept in ~/.cache/heronpy-tests."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

from support.servers import pyspark_folder

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


def _fetch(version: str, folder: Path) -> None:
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = ["mvn", "-B", "-q", "-f", str(_POM), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*command, f"-Dhadoop.version={version}", f"-DoutputDirectory={unfinished}"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        msg = f"Maven cannot fetch YARN's servers {version}:\n{done.stdout}{done.stderr}"
        raise RuntimeError(msg)
    unfinished.rename(folder)
