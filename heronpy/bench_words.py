"""The words that benchmarks count, and the oracle of their counts: the same for every engine and unit."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

#: words that come again and again, unless there are more keys than that
BLOCK = 1_000_000
#: how a word begins; its number follows
STEM = "word"


class Tally(msgspec.Struct, frozen=True):
    """Sums over all counts: equal for equal counts, in whatever order keys are kept."""

    words: int
    distinct: int
    #: sum of the squares of all counts
    squares: int
    #: sum over all words: count times number of the word
    weighted: int


class WordBlock(NamedTuple):
    """Words of so many keys, all as frequent, or few of them frequent (Zipf's law)."""

    keys: int
    zipf: bool

    def numbers(self) -> list[int]:
        """The number of each word of the block. After the last one the first comes again."""
        source, length = random.Random(1), max(BLOCK, self.keys)
        if not self.zipf:
            draw, keys = source.random, self.keys
            return [int(draw() * keys) for _ in range(length)]
        cumulated = list(itertools.accumulate(1 / rank for rank in range(1, self.keys + 1)))
        return source.choices(range(self.keys), cum_weights=cumulated, k=length)

    def words(self) -> list[str]:
        return [f"{STEM}{number}" for number in self.numbers()]

    def begin(self, part: int, parts: int) -> int:
        """Where in the block this one of several sources begins: no two emit the same words at a time."""
        return part * max(BLOCK, self.keys) // parts

    def expected(self, *spans: range) -> Tally:
        """The oracle: of the words at these positions; the block comes again and again."""
        numbers = self.numbers()
        counts: Counter[int] = Counter()
        passes = 0
        for span in spans:
            whole, rest = divmod(len(span), len(numbers))
            passes += whole
            begin = span.start % len(numbers)
            counts.update(numbers[begin : begin + rest])
            counts.update(numbers[: max(begin + rest - len(numbers), 0)])
        if passes:
            for number, count in Counter(numbers).items():
                counts[number] += count * passes
        return _tally(counts.items())


def tally(counts: Iterable[tuple[str, int]]) -> Tally:
    """Of words with their counts."""
    return _tally((int(word[len(STEM) :]), count) for word, count in counts)


def merged(tallies: Iterable[Tally]) -> Tally:
    """Of counts that have no key in common; one that two of them have makes the sums wrong, as it should."""
    sums = map(sum, zip(*(msgspec.structs.astuple(each) for each in tallies), strict=True))
    return Tally(*sums)


def _tally(counts: Iterable[tuple[int, int]]) -> Tally:
    words = distinct = squares = weighted = 0
    for number, count in counts:
        words += count
        distinct += 1
        squares += count * count
        weighted += number * count
    return Tally(words, distinct, squares, weighted)
