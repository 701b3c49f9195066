"""A query of NEXMark on the runner `local`, by itself: QUERY EVENTS-FILE. Prints what it found, as JSON."""

from __future__ import annotations

import gc
import json
import pickle
import platform
import sys
import time
from pathlib import Path
from typing import Any

from bench.sides.event_time_sides import plain
from heronpy import Pipeline
from heronpy.connectors.collected import CollectedSink
from heronpy.nexmark import Auction, Bid, Person
from heronpy.nexmark.queries import query
from heronpy.pipeline import sinks, sources

KINDS = {"person": Person, "auction": Auction, "bid": Bid}


def main() -> None:
    events = [KINDS[kind](*fields) for kind, *fields in pickle.loads(Path(sys.argv[2]).read_bytes())]
    # Without events: what a run imports is there before the clock starts, as with the peers.
    _pipeline([], sinks.collected()).run()
    found = sinks.collected()
    p = _pipeline(events, found)
    gc.collect()
    gc.freeze()
    wall, cpu = time.monotonic(), time.process_time()
    p.run()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    said = {
        "seconds": wall,
        "cpu_seconds": cpu,
        "results": [plain(one) for one in found.records],
        "versions": {"python": platform.python_version()},
    }
    print(json.dumps(said))


def _pipeline(events: list[Any], found: CollectedSink[Any]) -> Pipeline:
    p = Pipeline("nexmark")
    query(sys.argv[1], p, p.read(sources.items(events), name="events")).write(found)
    return p


if __name__ == "__main__":
    main()
