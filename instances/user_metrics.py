"""Reads the metrics that user code registered into plain numbers."""

from __future__ import annotations

from typing import Any, Protocol


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
