"""Announces the metric sinks that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import MetricSink, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_metric_sinks() -> Mapping[str, type[MetricSink]]:
    return ImportedLater(
        {
            "jsonl": "heronpy.plugins.metrics.jsonl:JsonLines",
            "prometheus": "heronpy.plugins.metrics.prometheus:Prometheus",
        }
    )
