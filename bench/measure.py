"""What every benchmark needs: alternate the sides, keep all rounds, print medians with their spread."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Sequence


def alternate(rounds: int, a: Callable[[], float], b: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Measure both sides `rounds` times in the order A B B A, so that drift hits both alike."""
    results_a: list[float] = []
    results_b: list[float] = []
    for number in range(rounds):
        for side in ("ab", "ba")[number % 2]:
            (results_a if side == "a" else results_b).append(a() if side == "a" else b())
    return results_a, results_b


def spread(values: Sequence[float]) -> str:
    """Median with smallest and largest."""
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} to {max(values):,.4g}, n={len(values)})"


def ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Round by round: the sides of one pair saw the same machine."""
    return [x / y for x, y in zip(a, b, strict=True)]


def machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {system}, load {load}"
