"""A pipeline from a spout to a bolt with every kind of step between them: FOLDER BRAKE.

Numbers are emitted slowly while there is a file BRAKE.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from heronpy import FileSink, Pipeline, Spout
from heronpy.pipeline import Context, Tag, sinks, sources

folder, brake = sys.argv[1:]
NUMBERS, SPLITS = 2000, 3
#: keys of each kind that an exchange may meet
KEYS: list[Any] = [None, b"bytes", ("a", 1), Decimal("1.50"), True, -1]
RARE: Tag[int] = Tag("rare")


class Numbers(Spout):
    """Its state is the position in each split."""

    outputs = ["split", "number"]
    splits = SPLITS

    def next_tuple(self) -> None:
        for split in self.splits:
            position = self.state.get(split, 0)
            if position < NUMBERS:
                self.state[split] = position + 1
                self.emit([split, NUMBERS * int(split) + position])
                if Path(brake).exists():
                    time.sleep(0.005)
                return
        self.finish()


async def looked_up(number: int) -> tuple[int, Any]:
    await asyncio.sleep(0.01 if number % 100 == 0 else 0)
    return number, KEYS[number % len(KEYS)]


def counted(state: dict[str, int], pair: tuple[int, Any], context: Context[Any]) -> Iterator[str]:
    state["seen"] = state.get("seen", 0) + 1
    if state["seen"] % 100 == 0:
        context.side(RARE, state["seen"])
    yield f"count {context.key!r} {state['seen']}"


p = Pipeline("all-steps")
numbers = p.read(
    sources.spout(Numbers, as_=lambda split, number: int(number), bounded=True), name="numbers", par=2
)
pairs = numbers.map_async(looked_up, at_once=16, timeout="10s", name="look-up", par=2)
counts = pairs.key_by(lambda pair: pair[1], name="kind").process(dict, counted, name="counts", par=2)
names = p.read(sources.items(["zero", "one", "two"]), name="names")
table = names.map(lambda name: (["zero", "one", "two"].index(name), name), name="numbered")
named = pairs.rebalance().hash_join(table, on=lambda pair: pair[0] % 4, key=lambda row: row[0], name="named")
even, odd = named.partition(lambda both: both[1][1] == "one", name="split")
by_name = odd.key_by(lambda both: both[1][1], name="by-name").count(name="by-name.count", par=2)
ends = by_name.key_by(lambda pair: pair[0], name="left").join(
    names.key_by(lambda name: name, name="right"), how="outer", name="joined"
)
lines = counts.merge(
    counts[RARE].map(lambda seen: f"rare {seen}"),
    even.map(lambda both: f"one {both[0][0]}"),
    ends.map(lambda r: f"joined {r.key} {r.value[0][1] if r.value[0] else None} {r.value[1]}"),
    pairs.count(name="all").map(lambda count: f"all {count}"),
    p.read(sources.items([]), name="nothing").map(str),
)
config = {FileSink.FOLDER: folder}
lines.write(sinks.bolt(FileSink, config=config), name="bolt", par=2)
p.run()
