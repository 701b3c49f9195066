"""Turns the reports of a container into samples that stand on their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heronpy.kernel.plans import PlacedTask
from heronpy.kernel.plugin.metric_sink import Sample
from heronpy.kernel.protocol import MetricsReport


def labelled(
    reports: Iterable[MetricsReport], tasks: Mapping[int, PlacedTask], topology: str, container: int
) -> list[Sample]:
    """Every number with the topology, container and process it belongs to."""
    samples = []
    for report in reports:
        labels = {"topology": topology, "container": str(container), **_process(report, tasks)}
        samples += [
            Sample(sample.name, sample.value, sample.kind, {**labels, **sample.labels})
            for sample in report.samples
        ]
    return samples


def _process(report: MetricsReport, tasks: Mapping[int, PlacedTask]) -> dict[str, str]:
    task = tasks.get(report.task)
    if task is None:
        return {"component": report.source or "unknown", "task": str(report.task)}
    return {"component": task.component, "task": str(task.id)}
