"""The words of heronpy.bench_words, so many of them, counted effectively once: FOLDER FORM WORDS VOCABULARY.

FORM is hand (a spout and a bolt), pipeline (as one is written) or single (a pipeline whose aggregate cannot
be combined, so that every word crosses the exchange). Words are emitted when FOLDER has a file `go`; the
counts are in FOLDER when all are counted.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heronpy import Bolt, FileSink, Grouping, Pipeline, Spout, Topology
from heronpy.bench_words import BLOCK as KEPT
from heronpy.bench_words import WordBlock
from heronpy.connectors import Chunk, Reader, Source
from heronpy.pipeline import agg, sinks

folder, form, total, vocabulary = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
GO = folder / "go"
#: words emitted by one call of next_tuple
BURST = 100


class Words(Spout):
    outputs = ["word"]
    splits = 1

    def initialize(self, config, context):
        self.words = WordBlock(vocabulary, False).words()
        self.going = False

    def next_tuple(self):
        self.going = self.going or GO.exists()
        if not self.going:
            return
        emitted = self.state.get("0", 0)
        begin = emitted % KEPT
        for word in self.words[begin : begin + BURST]:
            self.emit([word])
        self.state["0"] = emitted + BURST
        if emitted + BURST >= total:
            self.finish()


class Count(Bolt):
    outputs = ["word", "count"]

    def process(self, tup):
        word = tup.word
        self.state[word] = self.state.get(word, 0) + 1

    def end_of_input(self):
        for word, count in self.state.items():
            self.emit([word, count])


class WordSource(Source[str]):
    name = "words"
    bounded = True

    def splits(self) -> Sequence[str]:
        return ["0"]

    def open(self) -> Reader[str]:
        return WordReader()


class WordReader(Reader[str]):
    def __init__(self) -> None:
        self._words = WordBlock(vocabulary, False).words()
        self._read, self._going = 0, False

    def assign(self, positions: Mapping[str, Any]) -> None:
        self._read = positions["0"] or 0

    def poll(self, most: int) -> Chunk[str] | None:
        self._going = self._going or GO.exists()
        if not self._going:
            return None
        begin = self._read % KEPT
        some = self._words[begin : begin + min(most, total - self._read)]
        self._read += len(some)
        return Chunk("0", some, self._read, ended=self._read >= total)


if form == "hand":

    class CountedWords(Topology):
        config = {"topology.name": "counted-words", "topology.reliability.mode": "EFFECTIVELY_ONCE"}
        words = Words.spec(par=1)
        count = Count.spec(par=1, inputs={words: Grouping.fields("word")})
        out = FileSink.spec(inputs=[count], folder=folder)
else:
    p = Pipeline("counted-words")
    by_word = p.read(WordSource(), name="words").key_by(lambda word: word)
    one = agg.count() if form == "pipeline" else agg.fold(int, lambda count, _: count + 1)
    by_word.aggregate(one, name="count", par=1).write(sinks.files(folder), name="out")
    p.run()
