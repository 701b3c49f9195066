"""The metric sink contract: subclass it in your tests and say how to make your sink."""

from __future__ import annotations

import abc
import math
import os
from collections.abc import Sequence
from pathlib import Path

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin.metric_sink import MetricSink, Sample

LABELS = {"topology": "contract", "container": "1", "component": "count", "task": "3"}
SAMPLES = (
    Sample("executed", 41.0, "counter", LABELS),
    Sample("queue", 7.0, "gauge", {**LABELS, "stream": "default"}),
    Sample("custom", 0.5, "gauge", {**LABELS, "metric": "word length"}),
)
#: whatever user code may call its metrics, and however it counts
STRANGE = (
    Sample("custom", math.nan, "gauge", {**LABELS, "metric": 'a "quoted"\nname, = {}'}),
    Sample("custom", math.inf, "gauge", {**LABELS, "metric": "größe"}),
    Sample("custom", -1e300, "counter", {**LABELS, "metric": ""}),
)


class MetricSinkContract(abc.ABC):
    """What the Metrics Manager relies on.

    ```python
    class TestMySink(MetricSinkContract):
        def make(self) -> MetricSink:
            return MySink()
    ```
    """

    @abc.abstractmethod
    def make(self) -> MetricSink:
        """A fresh sink, not yet initialized."""

    def config(self) -> Config:
        """The settings to initialize with: the defaults, unless your plugin needs more."""
        return load_config(os.devnull, environ={})

    def started(self, folder: Path, container: int = 1) -> MetricSink:
        sink = self.make()
        sink.initialize(self.config(), "contract", container, str(folder))
        return sink

    def test_it_can_be_closed_right_after_initialize(self, tmp_path: Path) -> None:
        self.started(tmp_path).close()

    def test_it_says_at_submit_that_it_can_start(self) -> None:
        type(self.make()).preflight(self.config(), [1, 2], here=True)

    def test_it_takes_counters_gauges_and_nothing(self, tmp_path: Path) -> None:
        sink = self.started(tmp_path)
        samples: Sequence[Sample]
        for at, samples in enumerate([SAMPLES, (), SAMPLES]):
            sink.write(float(at), samples)
        sink.close()

    def test_strange_names_and_numbers_do_no_harm(self, tmp_path: Path) -> None:
        sink = self.started(tmp_path)
        sink.write(1.0, STRANGE)
        sink.write(2.0, SAMPLES)
        sink.close()

    def test_the_containers_of_one_machine_do_not_clash(self, tmp_path: Path) -> None:
        sinks = [self.started(tmp_path, container) for container in (1, 2)]
        for sink in sinks:
            sink.write(1.0, SAMPLES)
        for sink in sinks:
            sink.close()

    def test_a_restarted_container_may_start_again(self, tmp_path: Path) -> None:
        for _ in range(2):
            sink = self.started(tmp_path)
            sink.write(1.0, SAMPLES)
            sink.close()
