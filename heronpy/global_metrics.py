"""Counters for the whole process, reported under `__auto__`; nothing to register."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from heronpy.metrics import MultiCountMetric

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

root_name = "__auto__"
metrics_container = MultiCountMetric()
_lock = threading.Lock()


def incr(key: Any, to_add: float = 1) -> None:
    """Increment one key, from the component's own thread."""
    metrics_container.incr(key, to_add)


def safe_incr(key: Any, to_add: float = 1) -> None:
    """Increment one key, from any thread."""
    with _lock:
        metrics_container.incr(key, to_add)


def init(metrics_collector: TopologyContext, metrics_bucket: float) -> None:
    """Report the counters through this context. Called by the engine."""
    if root_name not in metrics_collector.metrics:
        metrics_collector.register_metric(root_name, metrics_container, metrics_bucket)
