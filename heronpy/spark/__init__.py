"""Data in and out of Spark: a data source named `heron`, a sink that it reads from and a spout that it feeds.

PySpark and PyArrow are imported when something of this is used; instances need PyArrow alone, and no Java.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.spark.feeding import feed
    from heronpy.spark.ingest_spout import IngestSpout
    from heronpy.spark.readers import forget_reader
    from heronpy.spark.segment_sink import SegmentSink
    from heronpy.spark.source import HeronDataSource

__all__ = ["HeronDataSource", "IngestSpout", "SegmentSink", "feed", "forget_reader"]

_HOMES = {
    "HeronDataSource": "heronpy.spark.source",
    "IngestSpout": "heronpy.spark.ingest_spout",
    "SegmentSink": "heronpy.spark.segment_sink",
    "feed": "heronpy.spark.feeding",
    "forget_reader": "heronpy.spark.readers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'heronpy.spark' has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
