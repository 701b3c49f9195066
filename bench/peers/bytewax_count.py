"""Bytewax's keyed count over the same words; prints words per second between two positions.

python bench/peers/bytewax_count.py FIRST LAST
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource, run_main

sys.path.insert(0, str(Path(__file__).parent.parent))
from topologies.words import words


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    million = words(seed=1, count=1_000_000)
    source = list(itertools.islice(itertools.cycle(million), last))
    totals: dict[str, int] = {}
    stamps: list[float] = []
    seen = 0

    def counted(total: int | None, _: str) -> tuple[int, int]:
        after = (total or 0) + 1
        return after, after

    def arrived(item: tuple[str, int]) -> bool:
        nonlocal seen
        totals[item[0]] = item[1]
        seen += 1
        if seen in (first, last):
            stamps.append(time.monotonic())
        return False

    flow = Dataflow("count")
    stream = op.input("words", flow, TestingSource(source, batch_size=1000))
    keyed = op.key_on("word", stream, lambda word: word)
    totalled = op.stateful_map("count", keyed, counted)
    op.inspect("nothing", op.filter("last", totalled, arrived))
    run_main(flow)
    assert sum(totals.values()) == last, "every word is accounted for"
    print((last - first) / (stamps[1] - stamps[0]))


if __name__ == "__main__":
    main()
