"""A plugin of pytest: the last words of a run are which tests were left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    yield
    reasons = Counter(map(_reason, terminalreporter.stats.get("skipped", [])))
    if not reasons:
        return
    loud = {"yellow": True, "bold": True}
    terminalreporter.section(f"left out: {_tests(reasons.total())}", sep="!", **loud)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{_tests(count)}: {reason}", **loud)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    assert isinstance(report.longrepr, tuple)
    return str(report.longrepr[2]).removeprefix("Skipped: ")


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
