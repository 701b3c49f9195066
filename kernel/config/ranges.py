"""The least and the most that each number, duration and size in heron.toml may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: written as in heron.toml; both ends are allowed
RANGES: Final[Mapping[str, tuple[str, str]]] = {
    "state.zookeeper.session": ("1s", "1h"),
    "state.zookeeper.timeout": ("100ms", "5m"),
    "scheduler.spark.port": ("0", "65535"),
    "submit.timeout": ("0s", "1d"),
    "kill.timeout": ("0s", "1d"),
    "container.restart_delay": ("1ms", "1h"),
    "container.restart_delay_max": ("1ms", "1d"),
    "container.restart_reset": ("1ms", "1d"),
    "container.restart_attempts": ("0", "1000000"),
    "container.silence": ("1s", "1d"),
    "container.lost": ("1s", "1d"),
    "checkpoint.interval": ("100ms", "30d"),
    "checkpoint.timeout": ("1s", "1d"),
    "checkpoint.retain": ("1", "10000"),
    "upload.limit": ("1KB", "1TB"),
    "update.timeout": ("1s", "1d"),
    "update.max_factor": ("1", "1000000"),
    "update.max_instances": ("1", "1000000"),
    "transport.port": ("0", "65535"),
    "transport.frame_bytes": ("64KB", "1GB"),
    "transport.handshake": ("10ms", "5m"),
    "batch.tuples": ("1", "1000000"),
    "batch.bytes": ("1B", "1GB"),
    "batch.linger": ("0s", "1m"),
    "credit.window": ("1ms", "1h"),
    "credit.initial_tuples": ("1", "10000000"),
    "credit.max_bytes": ("1B", "1TB"),
    "credit.probe": ("10ms", "1h"),
    "watermark.interval": ("0s", "1h"),
    "watermark.per_receiver": ("0s", "1m"),
    "watermark.repeat": ("10ms", "1h"),
    "spout.idle_min": ("1us", "1m"),
    "spout.idle_max": ("1us", "1m"),
    "metrics.interval": ("50ms", "1h"),
    "log.max_bytes": ("64KB", "1TB"),
    "log.files": ("1", "1000"),
}

#: pairs of which the first must not be more than the second
ORDERED: Final = (
    ("spout.idle_min", "spout.idle_max"),
    ("container.restart_delay", "container.restart_delay_max"),
)
