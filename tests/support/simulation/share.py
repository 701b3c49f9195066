"""One core's share of many schedules: seeds come in as JSON, outcomes go out."""

from __future__ import annotations

import logging
import sys

import msgspec
from support.simulation.run import run_schedule

if __name__ == "__main__":
    logging.getLogger("heronpy").addHandler(logging.NullHandler())  # it would tell of the very faults we make
    seeds = msgspec.json.decode(sys.stdin.buffer.read(), type=list[int])
    sys.stdout.buffer.write(msgspec.json.encode([run_schedule(seed) for seed in seeds]))
