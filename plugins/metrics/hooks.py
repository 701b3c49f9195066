"""Announces the metric sinks that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import MetricSink, hookimpl


@hookimpl
def heron_metric_sinks() -> Mapping[str, type[MetricSink]]:
    return {}
