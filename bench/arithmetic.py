"""The arithmetic of comparisons: pairs of one round, their median and spread, and what they say of a goal."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

#: rounds without which nothing is decided; figures that are to be quoted have 7 and more
PAIRS = 3
Verdict = Literal["met", "missed", "undecided", "not measured"]


def alternate(rounds: int, a: Callable[[], float], b: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Measure both sides `rounds` times in the order A B B A, so that drift hits both alike."""
    results_a: list[float] = []
    results_b: list[float] = []
    for number in range(rounds):
        for side in ("ab", "ba")[number % 2]:
            (results_a if side == "a" else results_b).append(a() if side == "a" else b())
    return results_a, results_b


def ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Round by round: the sides of one pair saw the same machine."""
    return [x / y for x, y in zip(a, b, strict=True)]


def spread(values: Sequence[float]) -> str:
    """Median with smallest and largest."""
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} to {max(values):,.4g}, n={len(values)})"


def noise(twins: Sequence[float]) -> float:
    """By how much a side differs from itself at most, as a share: of the ratios of an A/A pair."""
    return max((max(ratio, 1 / ratio) - 1 for ratio in twins), default=0.0)


class Goal(NamedTuple):
    """What a figure is to reach: at least this, or at most."""

    least: float | None = None
    aim: float | None = None
    most: bool = False

    def verdict(self, values: Sequence[float], twins: Sequence[float]) -> Verdict:
        """Undecided with few pairs, or where the median is nearer to the goal than the side to itself."""
        if self.least is None or not values:
            return "not measured"
        middle = statistics.median(values)
        if len(values) < PAIRS or max(middle / self.least, self.least / middle) - 1 <= noise(twins):
            return "undecided"
        return "met" if (middle < self.least) is self.most else "missed"

    def __str__(self) -> str:
        if self.least is None:
            return "-"
        sign = "≤ " if self.most else ""
        return f"{sign}{self.least:g}" + (f"; aim {sign}{self.aim:g}" if self.aim is not None else "")


def machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {system}, load {load}"
