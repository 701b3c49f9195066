"""The random strings and prices of NEXMark events."""

from __future__ import annotations

import functools
import math
import string

from heronpy.nexmark.java_random import JavaRandom

_SHORTEST = 3
#: of three characters
_TRIPLES = 26**3


def next_price(random: JavaRandom) -> int:
    """In cents: from 100 to 10**8, each power of ten as often as the next."""
    return math.floor(math.pow(10.0, random.real() * 6.0) * 100.0 + 0.5)


def next_text(random: JavaRandom, longest: int) -> str:
    """Letters and some spaces, none of them at either end."""
    below = random.below
    length = _SHORTEST + below(longest - _SHORTEST)
    made = [" " if below(13) == 0 else string.ascii_lowercase[below(26)] for _ in range(length)]
    return "".join(made).strip(" ")


def next_extra(random: JavaRandom, size: int, average: int) -> str:
    """What makes a record of this size as large as the average, give or take a fifth of what is missing."""
    if size > average:
        return ""
    missing = average - size
    delta = math.floor(missing * 0.2 + 0.5)
    return _exact_text(random, missing - delta + (random.below(2 * delta) if delta else 0))


def _exact_text(random: JavaRandom, length: int) -> str:
    """Six characters from each int: its digits to the base of 26, counted down from "a" if it is negative."""
    up, down = _triples()
    made = []
    for _ in range(-(-length // 6)):
        drawn = random.integer()
        triples = up if drawn >= 0 else down
        rest, low = divmod(abs(drawn), _TRIPLES)
        made.append(triples[low] + triples[rest % _TRIPLES])
    return "".join(made)[:length]


@functools.cache
def _triples() -> tuple[list[str], list[str]]:
    """The three characters of each number below 26**3, lowest digit first, for either sign."""

    def characters(step: int) -> list[str]:
        return [
            "".join(chr(ord("a") + step * digit) for digit in (n % 26, n // 26 % 26, n // 676))
            for n in range(_TRIPLES)
        ]

    return characters(1), characters(-1)
