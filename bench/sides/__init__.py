"""What can be measured: every side is one workload on one engine with one setting, behind `Side`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from bench.histogram import Histogram


class Sample(NamedTuple):
    """What one run of a side gave."""

    #: by name: `rate` (a second), `cpu` (microseconds each), `p50` (microseconds), …
    values: dict[str, float]
    #: of latencies in microseconds, where they are what is measured
    histogram: Histogram | None = None
    #: versions, counts and whatever else says what was run
    facts: dict[str, object] | None = None


class WrongResult(Exception):
    """A side that did not compute what the oracle says: its figures are worth nothing."""


class Side(ABC):
    """One way to do a workload. A call of `run` is one measurement.

    Results are checked against an oracle: counts of words, answers of queries, what was emitted and has come.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self) -> None:  # noqa: B027
        """Refuse here, before anything is measured, what cannot run on this machine."""

    @abstractmethod
    def run(self, quick: bool) -> Sample:
        """Measure once; `quick` for a look whether it works at all."""
