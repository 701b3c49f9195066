"""The pipeline that `heronpy bench nexmark` measures: QUERY EVENTS GENERATORS FOLDER GENERATION.

GENERATION is where events are generated: `here`, when this file is loaded; `held`, by the tasks before the
clock is started; `inside`, by the tasks while it runs.
"""

from __future__ import annotations

import sys

from heronpy import Pipeline
from heronpy.connectors import Source
from heronpy.nexmark.bench.counted_sink import CountedSink
from heronpy.nexmark.bench.held_source import HeldSource
from heronpy.nexmark.bench.ready_source import ReadySource
from heronpy.nexmark.nexmark_records import Event
from heronpy.nexmark.nexmark_source import NexmarkSource
from heronpy.nexmark.queries import query

NAME = "nexmark"
RESULTS = "results"


def _pipeline(asked: str, events: str, generators: str, folder: str, generation: str) -> Pipeline:
    source = NexmarkSource(int(events), int(generators))
    read: Source[Event] = source
    if generation == "here":
        read = ReadySource(source, folder)
    elif generation == "held":
        read = HeldSource(source, folder)
    p = Pipeline(NAME)
    query(asked, p, p.read(read, name="events")).write(CountedSink(folder), name=RESULTS)
    return p


p = _pipeline(*sys.argv[1:])
