"""The core install has neither pyarrow nor numpy: rows and batches, acked and saved, need none of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: the same words by emit() and by emit_many(), counted by key
PROGRAM = """
import sys

for name in ("pyarrow", "numpy", "pandas", "pyspark"):
    sys.modules[name] = None

from heronpy import BasicBolt, Bolt, Grouping, Spout, Topology
from heronpy.testing import TopologyTest

WORDS = ["a", "b", "a", "c", "a", "b"]


class Words(Spout):
    outputs = ["word"]
    splits = ["all"]

    def next_tuple(self):
        if not self.state.get("all"):
            for word in WORDS:
                self.emit([word], tup_id=word)
            self.emit_many([[word] for word in WORDS], tup_id="all of them")
            self.state["all"] = True


class Count(BasicBolt):
    outputs = ["word", "count"]

    def process(self, tup):
        self.state[tup.word] = self.state.get(tup.word, 0) + 1
        self.emit([tup.word, self.state[tup.word]])


class Sum(Bolt):
    def process_rows(self, rows, origin):
        for word, _ in rows:
            self.state[word] = self.state.get(word, 0) + 1
        self.ack(origin)


class WordCount(Topology):
    config = {"topology.reliability.mode": sys.argv[1]}
    words = Words.spec()
    count = Count.spec(par=3, inputs={words: Grouping.fields("word")})
    sums = Sum.spec(par=2, inputs={count: Grouping.fields("word")})


with TopologyTest(WordCount) as run:
    run.run_spouts()
    print(sorted(run.state("count").items()), sorted(run.state("sums").items()), run.counts()["words"].acked)
"""


def counted(folder: Path, mode: str) -> str:
    file = folder / "word_count.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file), mode], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_words_are_counted_without_arrow_at_every_guarantee(tmp_path: Path) -> None:
    counts = "[('a', 6), ('b', 4), ('c', 2)]"
    # six words by themselves, and a batch
    for mode, acked in (("ATMOST_ONCE", 7), ("ATLEAST_ONCE", 7), ("EFFECTIVELY_ONCE", 7)):
        assert counted(tmp_path, mode) == f"{counts} {counts} {acked}\n"
