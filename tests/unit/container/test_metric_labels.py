"""Samples that stand on their own: every number says whose it is."""

from __future__ import annotations

from heronpy.container.metrics_manager.labels import labelled
from heronpy.kernel.plans import PlacedTask
from heronpy.kernel.plugin.metric_sink import Sample
from heronpy.kernel.protocol import MetricsReport
from heronpy.kernel.protocol import Sample as Sent

TASKS = {3: PlacedTask(3, "count", 1, 2)}
CONTAINER = {"topology": "words", "container": "2"}


def test_a_task_is_known_by_its_component() -> None:
    report = MetricsReport(
        task=3,
        samples=[
            Sent(name="executed", value=5, kind="counter", labels={"from": "line", "stream": "default"}),
            Sent(name="queued", value=1.5, kind="gauge"),
        ],
    )
    count = {**CONTAINER, "component": "count", "task": "3"}
    assert labelled([report], TASKS, "words", 2) == [
        Sample("executed", 5.0, "counter", {**count, "from": "line", "stream": "default"}),
        Sample("queued", 1.5, "gauge", count),
    ]


def test_a_process_that_is_no_task_is_known_by_its_name() -> None:
    sent = [Sent(name="frames", value=9, kind="counter")]
    reports = [MetricsReport(source="stream-manager", samples=sent), MetricsReport(task=99, samples=sent)]
    assert [sample.labels for sample in labelled(reports, TASKS, "words", 2)] == [
        {**CONTAINER, "component": "stream-manager", "task": "0"},
        {**CONTAINER, "component": "unknown", "task": "99"},
    ]


def test_no_reports_are_no_samples() -> None:
    assert labelled([], TASKS, "words", 2) == []
    assert labelled([MetricsReport(task=3)], TASKS, "words", 2) == []
