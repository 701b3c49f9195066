"""The word count that `heronpy demo` runs; also a first example of the API."""

from __future__ import annotations

import heapq
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
#: words in a line of results
SHOWN = 5


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
    """Counts each word; all of one word come to the same task, and its count moves with it."""

    outputs = ["word", "count"]

    def process(self, tup: Any) -> None:
        total = self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, total])

    def process_tick(self, tup: Any) -> None:  # noqa: ARG002
        most = heapq.nlargest(SHOWN, self.state.items(), key=lambda item: item[1])
        print("   ".join(f"{word} {total:,}" for word, total in most))


class Demo(Topology):
    words = Words.spec(par=2)
    count = Count.spec(
        par=2,
        inputs={words: Grouping.fields("word")},
        config={"topology.tick.tuple.freq.secs": 2},
    )
    config = {"topology.stmgrs": 2}
