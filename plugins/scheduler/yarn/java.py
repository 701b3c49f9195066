"""A child JVM with the Hadoop client classes, called through Py4J."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from heronpy.kernel.errors import UserError

#: what is needed of the jars that PySpark brings
_JARS = (
    "hadoop-client-api-*",
    "hadoop-client-runtime-*",
    "py4j-*",
    "slf4j-api-2*",
    "log4j-api-*",
    "log4j-core-*",
    "log4j-slf4j2-impl-*",
)

#: it makes calls and nothing else
_OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

#: it ends when its standard input closes, serves loopback only, and requires the token that it prints
_MAIN = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")

_INSTALL = "pip install 'heron-py[yarn]'"

#: seconds that it may take to end
_PATIENCE = 5.0


class Java:
    """The JVM. Only this process can call it, and it ends with this process, however that ends."""

    def __init__(self, class_path: Iterable[Path], *, quiet: bool = False) -> None:
        """With `quiet`, the JVM's stderr is not shown."""
        py4j = _py4j()
        command = [java_command(), *_OPTIONS, "-cp", os.pathsep.join(map(str, class_path)), *_MAIN]
        with tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors if quiet else None,
            )
            assert self._process.stdout is not None
            port, token = (self._process.stdout.readline().strip().decode() for _ in range(2))
            if not token:
                self._end()
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                msg = f"{command[0]} does not run: {said[-1] if said else self._process.returncode}"
                raise UserError(msg, hint="install Java 17 or newer, and set JAVA_HOME to where it is")
        parameters = py4j.GatewayParameters(port=int(port), auth_token=token, auto_convert=True)
        self._gateway = py4j.JavaGateway(gateway_parameters=parameters)
        self.jvm: Any = self._gateway.jvm
        self.hadoop: Any = self.jvm.org.apache.hadoop
        self.yarn: Any = self.hadoop.yarn
        self.records: Any = self.yarn.api.records

    def close(self) -> None:
        self._gateway.close()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def java_command() -> str:
    """JAVA_HOME's Java, or the one on the PATH."""
    home = os.environ.get("JAVA_HOME", "")
    found = shutil.which(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None:
        msg = f"no Java in JAVA_HOME ({home})" if home else "YARN's client needs Java, and there is none"
        raise UserError(msg, hint="install Java 17 or newer, and set JAVA_HOME to where it is")
    return found


def client_jars() -> list[Path]:
    """The jars of Hadoop's client, where pip has put them."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        msg = "the scheduler yarn needs PySpark, whose jars have YARN's client, and it is not installed"
        raise UserError(msg, hint=_INSTALL)
    folder = Path(found.origin).parent / "jars"
    jars = []
    for pattern in _JARS:
        matches = sorted(folder.glob(f"{pattern}.jar"))
        if not matches:
            msg = f"there is no {pattern}.jar in {folder}"
            raise UserError(msg, hint=f"{_INSTALL} --force-reinstall")
        jars.append(matches[-1])
    return jars


def said(error: Exception) -> str:
    """A Java error in one line."""
    thrown = getattr(error, "java_exception", None)
    text = str(thrown.getMessage() or thrown.getClass().getName()) if thrown is not None else str(error)
    return text.strip().partition("\n")[0]


def kind(error: Exception) -> str:
    """The class of what was thrown, without its package; empty when it was not thrown in Java."""
    thrown = getattr(error, "java_exception", None)
    return str(thrown.getClass().getSimpleName()) if thrown is not None else ""


def _py4j() -> Any:
    # it logs errors when objects of a JVM that has ended cannot be released
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        return importlib.import_module("py4j.java_gateway")
    except ModuleNotFoundError:
        msg = "the scheduler yarn needs Py4J, and it is not installed"
        raise UserError(msg, hint=_INSTALL) from None
