"""What one word costs a count: in a dict word by word, and in a table of columns, in Python and in C.

450,000 words, batches of 10,000, once all of them are known. python -m bench.key_table [--rounds 7]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from bench.arithmetic import machine, spread
from heronpy.kernel.flow import compiled
from heronpy.kernel.tables.key_table import KeyTable

VOCABULARY = 450_000
BATCH = 10_000
BATCHES = 20


def nanoseconds(count: Callable[[Any], object], batches: list[Any]) -> float:
    """CPU-nanoseconds per word."""
    begun = time.process_time()
    for batch in batches:
        count(batch)
    return (time.process_time() - begun) * 1e9 / (BATCH * len(batches))


def table_of(words: Any) -> KeyTable:
    table = KeyTable(pa.schema([("word", pa.string())]), {"count": np.int64}, 256)
    table.add([words], {"count": 0})
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    words = pa.array([f"word{number}" for number in range(VOCABULARY)])
    draw = np.random.default_rng(1)
    batches = [words.take(pa.array(draw.integers(0, VOCABULARY, BATCH))) for _ in range(BATCHES)]
    in_c = table_of(words)
    module, compiled.columns = compiled.columns, None
    in_python = table_of(words)
    compiled.columns = module
    counts = dict.fromkeys(words.to_pylist(), 0)

    def in_rows(batch: list[str]) -> None:
        for word in batch:
            counts[word] = counts.get(word, 0) + 1

    rows = [batch.to_pylist() for batch in batches]
    sides: dict[str, Callable[[], float]] = {
        "a dict, word by word": lambda: nanoseconds(in_rows, rows),
        "a table in Python": lambda: nanoseconds(lambda batch: in_python.add([batch], {"count": 1}), batches),
        "a table in C": lambda: nanoseconds(lambda batch: in_c.add([batch], {"count": 1}), batches),
        "all groups of it as bytes, per key": lambda: snapshot(in_c),
    }
    found = [{side: measure() for side, measure in sides.items()} for _ in range(options.rounds)]
    print(machine())
    for side in sides:
        print(f"{side}: {spread([each[side] for each in found])} CPU-nanoseconds")


def snapshot(table: KeyTable) -> float:
    begun = time.process_time()
    for found in table.frozen().parts(range(256)):
        for _, part in found:
            part.to_bytes()
    return (time.process_time() - begun) * 1e9 / VOCABULARY


if __name__ == "__main__":
    main()
