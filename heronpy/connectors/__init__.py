"""Sources and sinks: one interface for spouts, bolts, pipelines and Spark, and the systems behind it.

Begin with `source.py` and `sink.py`. A system is a module, or a package if it needs several; its client
library is an extra, imported when a source or sink is opened. The testing kit has a contract suite for each.
"""

from __future__ import annotations

from heronpy.connectors.sink import Sink, Writer
from heronpy.connectors.source import Chunk, Reader, Source

__all__ = ["Chunk", "Reader", "Sink", "Source", "Writer"]
