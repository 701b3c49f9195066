"""The word count that `heronpy bench` measures: as many words as the machine can count."""

from __future__ import annotations

import random
from typing import Any

from heronpy import Bolt, Grouping, Spout, Topology

VOCABULARY = 100_000
#: words that one call of next_tuple emits, as a source does that reads in blocks
BURST = 100


class Words(Spout):
    """Random words of a large vocabulary, without a pause."""

    outputs = ["word"]

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.words = [f"word{random.randrange(VOCABULARY)}" for _ in range(VOCABULARY)]
        self.position = 0

    def next_tuple(self) -> None:
        for word in self.words[self.position : self.position + BURST]:
            self.emit([word])
        self.position = (self.position + BURST) % VOCABULARY


class Count(Bolt):
    """Counts each word."""

    def initialize(self, config: Any, context: Any) -> None:  # noqa: ARG002
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        self.counts[tup.word] = self.counts.get(tup.word, 0) + 1


class Bench(Topology):
    words = Words.spec(par=1)
    count = Count.spec(par=1, inputs={words: Grouping.fields("word")})
