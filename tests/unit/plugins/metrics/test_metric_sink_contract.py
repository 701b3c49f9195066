"""Our own metric sinks keep the contract that every author's must."""

from __future__ import annotations

from heronpy import MetricSink
from heronpy.plugins.metrics.jsonl import JsonLines
from heronpy.plugins.metrics.prometheus import Prometheus
from heronpy.testing.contracts.metric_sink import MetricSinkContract


class TestJsonLines(MetricSinkContract):
    def make(self) -> MetricSink:
        return JsonLines()


class TestPrometheus(MetricSinkContract):
    def make(self) -> MetricSink:
        return Prometheus()
