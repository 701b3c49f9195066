"""The command line in this process, with a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from heronpy.cli.main import cli

Heronpy = Callable[..., Result]


@pytest.fixture
def heronpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Heronpy:
    """heronpy("list", "-o", "json"): exit_code, stdout, stderr. A bug raises here as it would there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    runner = CliRunner()
    return lambda *args: runner.invoke(cli, args, prog_name="heronpy", catch_exceptions=False)
