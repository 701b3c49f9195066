"""What an installation makes of columns, as one line of JSON: a program, with that heronpy on its path."""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar

import pyarrow as pa
from support.golden_keys import GOLDEN

import heronpy
from heronpy import BasicBolt, Grouping, Schema, Spout, TopologyBuilder
from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.column_keys import key_groups
from heronpy.testing import TopologyTest

WORDS, BATCHES = 100, 3
WORD = Schema(word=pa.string())


class Words(Spout):
    """Each word once in every batch."""

    outputs: ClassVar[Any] = WORD

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = BATCHES

    def next_tuple(self) -> None:
        if self.left:
            self.left -= 1
            self.emit_batch(
                pa.record_batch([[f"word {number}" for number in range(WORDS)]], schema=WORD.arrow)
            )


class Counts(BasicBolt):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.table = self.state.table("counts", count="int64")
        self.counts: dict[str, int] = {}

    def process_columns(self, batch: Any) -> None:
        words = batch["word"]
        self.table.add([words], {"count": 1})
        counted = self.table.get([words])["count"].tolist()
        self.counts.update(zip(words.to_pylist(), counted, strict=True))


def counts() -> list[dict[str, int]]:
    """What each of two tasks has counted."""
    builder = TopologyBuilder("installed")
    words = builder.add_spout("words", Words, 1)
    builder.add_bolt("counts", Counts, 2, inputs={words: Grouping.fields("word")})
    with TopologyTest(builder) as run:
        run.run_spouts()
        return [run.component("counts", index).counts for index in range(2)]


if __name__ == "__main__":
    groups = [int(key_groups([pa.array([value], kind)], 256)[0]) for kind, value, _ in GOLDEN]
    found = {
        "heronpy": heronpy.__file__,
        "module": getattr(compiled.columns, "__file__", None),
        "groups": groups,
        "counts": counts(),
    }
    json.dump(found, sys.stdout)
