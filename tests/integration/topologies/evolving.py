"""Two steps that keep state by one key, whose code the test changes: FILE FOLDER BRAKE.

Numbers are read slowly while there is a file BRAKE.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heronpy import Pipeline
from heronpy.pipeline import Context, agg, sinks, sources

source, folder, brake = sys.argv[1:]
passed = 0


def number(line: str) -> int:
    global passed
    passed += 1
    if passed % 10 == 0 and Path(brake).exists():
        time.sleep(0.02)
    return int(line)


@dataclass
class Seen:
    count: int = 0


def seen(state: Seen, number: int, context: Context[int]) -> Iterator[str]:
    state.count += 1
    yield f"seen {context.key} {state.count}"


p = Pipeline("evolving")
numbers = p.read(sources.lines(source), name="lines").map(number, name="number")
by_rest = numbers.key_by(lambda n: n % 7, name="rest")
counts = by_rest.process(Seen, seen, name="seen", par=2)
sums = by_rest.rolling(agg.sum(lambda n: n), name="sum", par=2)
counts.merge(sums.map(lambda pair: f"sum {pair[0]} {pair[1]}")).write(sinks.files(folder), name="out")
p.run()
