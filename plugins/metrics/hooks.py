"""Announces the metric sinks that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import MetricSink, hookimpl
from heronpy.plugins.metrics.jsonl import JsonLines
from heronpy.plugins.metrics.prometheus import Prometheus


@hookimpl
def heron_metric_sinks() -> Mapping[str, type[MetricSink]]:
    return {JsonLines.name: JsonLines, Prometheus.name: Prometheus}
