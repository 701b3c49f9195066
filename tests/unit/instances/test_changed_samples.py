"""Samples of a task at rest are not told again and again: a process may have hundreds of such tasks."""

from __future__ import annotations

from heronpy.instances.process.task_report import UNTOLD, TaskReport


def test_samples_are_told_when_they_change_and_now_and_then() -> None:
    report = TaskReport(1, lambda: None)
    told = [bool(report.changed_samples()) for _ in range(UNTOLD + 2)]
    assert told == [True, *[False] * (UNTOLD - 1), True, False]
    report.counters.emitted["default"] = 1
    (emitted,) = (sample for sample in report.changed_samples() if sample.name == "emitted")
    assert (emitted.value, report.changed_samples()) == (1, [])
    report.counters.calls += 5  # of a spout that had nothing
    report.counters.busy_seconds += 0.001
    assert (report.changed_samples(), report.has_moved) == ([], False)
    report.counters.busy_seconds += 0.1
    assert (bool(report.changed_samples()), report.has_moved) == (True, True)
    report.counters.custom["hits/200"] = 3.0
    assert [sample.value for sample in report.changed_samples() if sample.name == "custom"] == [3.0]
