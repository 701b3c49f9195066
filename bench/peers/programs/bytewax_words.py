"""Bytewax: a keyed count with `stateful_map`, one worker."""

from __future__ import annotations

import importlib.metadata
import itertools

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource, run_main
from measuring import Clock, block, report


def main() -> None:
    clock = Clock()
    source = list(itertools.islice(itertools.cycle(block()), clock.last))
    totals: dict[str, int] = {}
    seen = 0

    def counted(total: int | None, _: str) -> tuple[int, int]:
        after = (total or 0) + 1
        return after, after

    def arrived(item: tuple[str, int]) -> bool:
        nonlocal seen
        totals[item[0]] = item[1]
        seen += 1
        if seen in (clock.first, clock.last):
            clock.mark()
        return False

    flow = Dataflow("count")
    stream = op.input("words", flow, TestingSource(source, batch_size=1000))
    keyed = op.key_on("word", stream, lambda word: word)
    totalled = op.stateful_map("count", keyed, counted)
    op.inspect("nothing", op.filter("last", totalled, arrived))
    run_main(flow)
    report(clock, totals.items(), bytewax=importlib.metadata.version("bytewax"))


if __name__ == "__main__":
    main()
