"""Shows the samples that were last written, over HTTP. Imported only where prometheus_client is used."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from heronpy.kernel.plugin.metric_sink import Sample

HOST = "127.0.0.1"
PREFIX = "heronpy_"


class Endpoint:
    """An HTTP server with a registry of its own."""

    def __init__(self, port: int) -> None:
        self._collector = LastSamples()
        registry = CollectorRegistry()
        registry.register(self._collector)
        self._server, self._thread = start_http_server(port, addr=HOST, registry=registry)
        self.url = f"http://{HOST}:{self._server.server_port}/metrics"

    def show(self, samples: Sequence[Sample]) -> None:
        self._collector.samples = samples

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class LastSamples(Collector):
    """The engine has counted already; this only puts its numbers into Prometheus' form."""

    def __init__(self) -> None:
        #: replaced as a whole, never changed: a scrape reads it from a thread of its own
        self.samples: Sequence[Sample] = ()

    @override
    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        families: dict[tuple[str, str], list[Sample]] = defaultdict(list)
        for sample in self.samples:
            families[sample.name, sample.kind].append(sample)
        for (name, kind), members in sorted(families.items()):
            yield _family(name, kind, members)


def _family(name: str, kind: str, members: list[Sample]) -> CounterMetricFamily | GaugeMetricFamily:
    # Prometheus takes an empty label for one that is not there, so members need not have the same labels.
    labels = sorted({label for sample in members for label in sample.labels})
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    family = make(
        PREFIX + _sanitized(name),
        f"{name} of heronpy's processes, as last reported",
        labels=[_label(label) for label in labels],
    )
    for sample in members:
        family.add_metric([sample.labels.get(label, "") for label in labels], sample.value)
    return family


def _label(name: str) -> str:
    """Two underscores at the start are Prometheus' own; a digit is not allowed there."""
    sanitized = _sanitized(name)
    return (
        f"label_{sanitized}" if sanitized.startswith("__") or not sanitized[:1].isidentifier() else sanitized
    )


def _sanitized(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)
