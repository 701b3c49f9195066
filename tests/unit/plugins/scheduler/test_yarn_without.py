"""The scheduler `yarn` where something that it needs is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from heronpy.kernel.errors import UserError
from heronpy.plugins.scheduler.yarn.java import Java, client_jars, java_command


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(
        UserError, match=r"needs PySpark, .* not installed \(try: pip install 'heron-py\[yarn\]'\)"
    ):
        client_jars()


def test_no_py4j(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py4j.java_gateway", None)
    with pytest.raises(UserError, match=r"needs Py4J, and it is not installed \(try: pip install"):
        Java([])


def test_a_jar_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyspark" / "jars").mkdir(parents=True)
    (tmp_path / "pyspark" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"there is no hadoop-client-api-\*\.jar in .*pyspark/jars"):
        client_jars()


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/no/where")
    with pytest.raises(UserError, match="needs Java, and there is none"):
        java_command()


def test_a_java_that_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"bin/java does not run: it is broken \(try: install Java 17"):
        Java([], quiet=True)
