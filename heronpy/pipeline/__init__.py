"""Pipelines: streams of records from sources through named steps into sinks.

Public, and pure: nothing here runs a step or opens a source. `graph.py` is the pipeline as data, which
heronpy.planner and heronpy.operators read. Begin with pipeline.py and streams.py.
"""

from __future__ import annotations

from heronpy.pipeline import agg, sinks, sources
from heronpy.pipeline.agg import Aggregate
from heronpy.pipeline.keyed_streams import KeyedStream
from heronpy.pipeline.pipeline import Pipeline
from heronpy.pipeline.records import Context, Failed, Pane, Result, Tag, Timer
from heronpy.pipeline.streams import Results, Stream
from heronpy.pipeline.windowed import Windowed
from heronpy.pipeline.windows import Window, Windows, everything, sessions, sliding, tumbling

__all__ = [
    "Aggregate",
    "Context",
    "Failed",
    "KeyedStream",
    "Pane",
    "Pipeline",
    "Result",
    "Results",
    "Stream",
    "Tag",
    "Timer",
    "Window",
    "Windowed",
    "Windows",
    "agg",
    "everything",
    "sessions",
    "sinks",
    "sliding",
    "sources",
    "tumbling",
]
