"""The word count that `heronpy demo` runs; also a first example of the API."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

from heronpy import Bolt, Grouping, Spout, Topology

TEXT = """
a heron stands still in the stream and lets the stream do the work
the stream brings the fish and the heron takes the fish it wants
one heron one stream many fish and the water never stops
"""

#: words that one call of next_tuple emits, and the pause after them: a demo should leave some CPU to others
BURST = 100
PAUSE = 0.005


class Words(Spout):
    """Says the words of TEXT, over and over."""

    outputs = ["word"]

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.words: Iterator[str] = itertools.cycle(TEXT.split())

    def next_tuple(self) -> None:
        for word in itertools.islice(self.words, BURST):
            self.emit([word])
        time.sleep(PAUSE)


class Count(Bolt):
    """Counts each word; all of one word come to the same instance."""

    outputs = ["word", "count"]

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        total = self.counts[tup.word] = self.counts.get(tup.word, 0) + 1
        self.emit([tup.word, total])


class Demo(Topology):
    words = Words.spec(par=2)
    count = Count.spec(par=2, inputs={words: Grouping.fields("word")})
    config = {"topology.stmgrs": 2}
