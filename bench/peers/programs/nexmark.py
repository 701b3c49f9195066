"""What the peers' queries share: events, clock, and the line that is printed. The standard library alone."""

from __future__ import annotations

import gc
import json
import pickle
import platform
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from measuring import cpu_seconds

#: positions of fields in an event, whose kind is its first
AUCTION, BIDDER, PRICE, BID_AT = 1, 2, 3, 4
PERSON_ID, NAME, PERSON_AT = 1, 2, 7
RESERVE, AUCTION_AT, SELLER = 5, 6, 8
AT = {"bid": BID_AT, "person": PERSON_AT, "auction": AUCTION_AT}
#: seconds
SIZE, SLIDE = 10, 5


def at(event) -> int:
    """Event time, in milliseconds."""
    return event[AT[event[0]]]


def measure(run: Callable[[str, list], Iterable], **versions: str) -> None:
    """Runs the query that the second argument names; its results are lists of plain values."""
    events = pickle.loads(Path(sys.argv[1]).read_bytes())
    gc.collect()
    gc.freeze()
    began, cpu = time.monotonic(), cpu_seconds()
    found = list(run(sys.argv[2], events))
    said = {
        "seconds": time.monotonic() - began,
        "cpu_seconds": cpu_seconds() - cpu,
        "results": found,
        "versions": {"python": platform.python_version(), **versions},
    }
    print(json.dumps(said), flush=True)
