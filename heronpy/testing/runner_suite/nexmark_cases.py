"""The queries of NEXMark over the same 10,000 events: how many results, and a sum over them."""

from __future__ import annotations

import zlib
from typing import Any

from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import QUERIES, query
from heronpy.pipeline import Stream, agg
from heronpy.testing.runner_suite.case import CaseBook, CaseSteps

book = CaseBook()


def _sum(result: object) -> int:
    return zlib.crc32(repr(result).encode())


@book.case(
    [
        ("Q0", 10_000, 21505497742607),
        ("Q1", 9_200, 19476439345626),
        ("Q2", 22, 40665719280),
        ("Q3", 17, 38345546764),
        ("Q13", 9_200, 19684966914640),
    ]
)
def nexmark_queries(t: CaseSteps) -> Stream[Any]:
    events = t.p.read(NexmarkSource(10_000, generators=2), name=t.name("read"))

    def summary(name: str) -> Stream[Any]:
        figures = agg.of(results=agg.count(), sum=agg.sum(_sum))
        found = query(name, t.p, events).aggregate(figures, name=t.name(name))
        return found.map(lambda row: (name, row["results"], row["sum"]))

    first, *others = map(summary, QUERIES)
    return first.merge(*others)
