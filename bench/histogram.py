"""A histogram of durations whose buckets widen with the value, as HdrHistogram's do: less than 1 % off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

#: bits of a value that are kept
KEPT = 8
#: what is printed of every histogram
PERCENTILES = (50.0, 90.0, 99.0, 99.9)


class Histogram:
    """Counts of microseconds. Histograms are merged; percentiles never are."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0
        for value, count in counts:
            self.record(value, count)

    def record(self, value: int, count: int = 1) -> None:
        value = max(value, 0)
        excess = max(value.bit_length() - KEPT, 0)
        self._counts[value >> excess << excess] += count
        self.largest = max(self.largest, value)

    def merge(self, other: Histogram) -> None:
        self._counts.update(other._counts)
        self.largest = max(self.largest, other.largest)

    @property
    def total(self) -> int:
        return self._counts.total()

    def percentile(self, share: float) -> float:
        """The value that so many per cent of all do not exceed, by the lower end of its bucket."""
        wanted, seen = self.total * share / 100, 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= wanted:
                return float(bucket)
        return 0.0

    def summary(self) -> dict[str, float]:
        """p50, p90, p99, p99.9, max and how many there are, in microseconds."""
        named = {f"p{share:g}": self.percentile(share) for share in PERCENTILES}
        return {**named, "max": float(self.largest), "points": float(self.total)}

    def to_plain(self) -> dict[str, int]:
        return {str(bucket): self._counts[bucket] for bucket in sorted(self._counts)}

    @classmethod
    def from_plain(cls, counts: Mapping[str, int]) -> Histogram:
        return cls((int(value), count) for value, count in counts.items())
