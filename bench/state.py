"""What `self.state` costs a bolt per tuple, against a dict of its own: one get and one set, 100,000 words.

python -m bench.state [--rounds 9]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from bench.arithmetic import alternate, machine, spread
from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.testing import TopologyTest

TUPLES = 500_000
VOCABULARY = 100_000


class Words(Spout):
    outputs = ["word"]


class Count(Bolt):
    pass


class WordCount(Topology):
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word")})


class Counter:
    """The part of a counting bolt that does not depend on what it counts in."""

    def __init__(self, state: MutableMapping[Any, Any]) -> None:
        self.state = state

    def process(self, word: str) -> None:
        self.state[word] = self.state.get(word, 0) + 1


def nanoseconds(make: Callable[[], MutableMapping[Any, Any]], *, seen: bool) -> Callable[[], float]:
    """CPU-nanoseconds per word, when all words have been `seen` before or none has."""
    vocabulary = [f"word{number}" for number in range(VOCABULARY)]
    words = random.Random(1).choices(vocabulary, k=TUPLES) if seen else vocabulary

    def measured() -> float:
        counter = Counter(make())
        if seen:
            counter.state.update(dict.fromkeys(vocabulary, 0))
        begun = time.process_time()
        for word in words:
            counter.process(word)
        return (time.process_time() - begun) * 1e9 / len(words)

    return measured


def keyed() -> MutableMapping[Any, Any]:
    run = TopologyTest(WordCount)
    run.feed("words", [])
    state: MutableMapping[Any, Any] = run.component("count").state
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(machine())
    for kind, seen, goal in (("known", True, "; goal: at most 500"), ("new", False, "")):
        state, plain = alternate(options.rounds, nanoseconds(keyed, seen=seen), nanoseconds(dict, seen=seen))
        more = [a - b for a, b in zip(state, plain, strict=True)]
        print(f"{kind} words, CPU-nanoseconds each: self.state {spread(state)}, a dict {spread(plain)}")
        print(f"{kind} words, self.state costs more by {spread(more)}{goal}")


if __name__ == "__main__":
    main()
