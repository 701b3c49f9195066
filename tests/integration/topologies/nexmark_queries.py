"""The queries of NEXMark, each into a folder of its own: FOLDER EVENTS."""

import sys
from pathlib import Path

from heronpy import Pipeline
from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import QUERIES, TIMED_QUERIES, query
from heronpy.pipeline import sinks

folder, events = Path(sys.argv[1]), int(sys.argv[2])

p = Pipeline("nexmark-queries")
read = p.read(NexmarkSource(events, generators=3, rate=40, out_of_order=3), name="events", par=2)
for name in (*QUERIES, *TIMED_QUERIES):
    results = query(name, p, read).map(lambda found: repr(tuple(found)), name=f"{name}.shown")
    results.write(sinks.files(folder / name, format="json"), name=f"{name}.files")
p.run()
