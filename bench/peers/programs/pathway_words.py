"""Pathway: `groupby` and `reducers.count` over rows of a Python connector."""

from __future__ import annotations

import importlib.metadata
import itertools

import pathway as pw
from measuring import Clock, block, report

#: milliseconds between two commits of the input
COMMIT = 200


class Word(pw.Schema):
    word: str


class Words(pw.io.python.ConnectorSubject):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def run(self) -> None:
        words = itertools.islice(itertools.cycle(block()), self.clock.last)
        for word in itertools.islice(words, self.clock.first):
            self.next(word=word)
        self.clock.mark()
        for word in words:
            self.next(word=word)


def main() -> None:
    clock, counts = Clock(), {}

    def changed(key, row, time, is_addition) -> None:
        if is_addition:
            counts[row["word"]] = row["count"]

    words = pw.io.python.read(Words(clock), schema=Word, autocommit_duration_ms=COMMIT)
    counted = words.groupby(pw.this.word).reduce(pw.this.word, count=pw.reducers.count())
    pw.io.subscribe(counted, on_change=changed)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    clock.mark()
    report(clock, counts.items(), pathway=importlib.metadata.version("pathway"))


if __name__ == "__main__":
    main()
