"""A pytest plugin that writes down how long each test took and why it failed, for tests/whole_run.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", type=Path, metavar="FILE", help="write a line per test into this file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--record")
    if file is not None and not hasattr(config, "workerinput"):  # workers of xdist report to the controller
        config.pluginmanager.register(_Record(file), "record")


class _Record:
    def __init__(self, file: Path) -> None:
        self._file = file
        #: test → name, seconds, failure, why it was skipped
        self._lines: dict[str, list[str | float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        line = self._lines.setdefault(report.nodeid, [report.nodeid, 0.0, "", ""])
        line[1] = float(line[1]) + report.duration
        if report.failed:
            line[2] = line[2] or f"{report.when}: {_reason(report)}"
        elif report.skipped:
            line[3] = _reason(report)

    def pytest_sessionfinish(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(list(self._lines.values())))


def _reason(report: pytest.TestReport) -> str:
    """Why in one line: the message of the exception, without its traceback."""
    if isinstance(report.longrepr, tuple):  # of a skip: file, line, reason
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    text = report.longreprtext if crash is None else f"{crash.path}:{crash.lineno}: {crash.message}"
    return next(iter(text.strip().splitlines()), "no reason given")[:300]
