"""The floor of rows in Python: the classes of the word count in one process, and nothing between them."""

from __future__ import annotations

from measuring import Clock, report
from pipe_words import BATCH, Count, Row, Words, settle


def main() -> None:
    clock, bolt = Clock(), Count()
    rows: list[list[str]] = []
    spout = Words(rows.append)
    settle()
    while bolt.seen < clock.last:
        while len(rows) < BATCH:
            spout.next_tuple()
        for values in rows:
            bolt.process(Row(values))
        rows.clear()
        if bolt.seen in (clock.first, clock.last):
            clock.mark()
    report(clock, bolt.counts.items())


if __name__ == "__main__":
    main()
