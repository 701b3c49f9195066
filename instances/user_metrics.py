"""Reads the metrics that user code registered into plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from heronpy.instances.counters import Counters


class Readable(Protocol):
    """A metric of the user's; reading it starts its next bucket."""

    def get_value_and_reset(self) -> Any: ...


def sample_metrics(name: str, metric: Readable, into: dict[str, float]) -> None:
    """Put a metric's numbers under its name, those of a multi-metric under name/key."""
    value = metric.get_value_and_reset()
    entries = value.items() if isinstance(value, dict) else [("", value)]
    for key, number in entries:
        if isinstance(number, int | float):
            into[f"{name}/{key}" if key else name] = float(number)


class MetricSampler:
    """Reads one metric again and again, for as long as the task does something."""

    def __init__(self, metrics: Mapping[str, tuple[Readable, float]], name: str, counters: Counters) -> None:
        self._metrics = metrics
        self._name = name
        self._counters = counters
        self._activity = -1
        self._quiet = False

    def sample(self) -> None:
        activity = self._counters.activity()
        self._quiet, self._activity = activity == self._activity, activity
        sample_metrics(self._name, self._metrics[self._name][0], self._counters.custom)

    def has_news(self) -> bool:
        """False when the last bucket was that of a task at rest, and it still rests."""
        return not self._quiet or self._counters.activity() != self._activity
