"""The chains of a plan as DataFrames, and their run: one Spark job, behind those for what is read twice."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark import cloudpickle

from heronpy.plugins.runner.spark.layout import Chain
from heronpy.plugins.runner.spark.worker import carrier
from heronpy.plugins.runner.spark.worker.carrier import Places, carried
from heronpy.plugins.runner.spark.worker.reports import Report
from heronpy.plugins.runner.spark.worker.rows import FOR_DRIVER, SCHEMA, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# workers may have no heronpy yet: what Spark calls there travels with its code
cloudpickle.register_pickle_by_value(carrier)  # type: ignore[no-untyped-call]


class Job:
    """One run. A chain with several readers is kept by Spark, so that its functions are called once."""

    def __init__(self, spark: SparkSession, chains: Sequence[Chain], places: Places) -> None:
        self._spark, self._chains, self._places = spark, chains, places
        self._frames: dict[str, DataFrame] = {}
        #: those that are kept, by how many of them are before them
        self._kept: dict[int, list[DataFrame]] = {}
        self._depths: dict[str, int] = {}
        for number, chain in enumerate(chains):
            self._add(number, chain)

    def run(self) -> list[Report]:
        """What the tasks told the driver."""
        try:
            for depth in sorted(self._kept):  # all of them at once, each behind those that it reads
                _union(self._kept[depth]).count()
            ends = [self._frames[chain.name] for chain in self._chains if not chain.sends]
            return [opened(records) for records in _union(ends).toArrow().column("records").to_pylist()]
        finally:
            self._forget()

    def _add(self, number: int, chain: Chain) -> None:
        frame = self._input(chain).mapInArrow(carried(self._places, number), SCHEMA)
        before = [other for other in self._chains[:number] if chain.name in other.readers]
        depth = max((self._depths[other.name] for other in before), default=0)
        if len(chain.readers) > 1:
            frame = frame.persist()
            self._kept.setdefault(depth, []).append(frame)
            depth += 1
        self._frames[chain.name], self._depths[chain.name] = frame, depth

    def _input(self, chain: Chain) -> DataFrame:
        if chain.source:
            return self._spark.range(0, chain.tasks, 1, chain.tasks)
        parts = [self._sent(other, chain) for other in self._chains if chain.name in other.readers]
        return _union(parts).repartitionById(chain.tasks, "task")

    def _sent(self, chain: Chain, reader: Chain) -> DataFrame:
        """What a chain sends to a reader; its first reader also passes on what is for the driver."""
        frame = self._frames[chain.name]
        if len(chain.readers) == 1:
            return frame
        tags = [exchange.tag for exchange in chain.sends if exchange.to == reader.name]
        if chain.readers[0] == reader.name:
            tags.append(FOR_DRIVER)
        return frame.where(frame["tag"].isin(tags))

    def _forget(self) -> None:
        for frames in self._kept.values():
            for frame in frames:
                frame.unpersist()


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """Of all, as a tree that is flat: a plan with hundreds of levels is refused."""
    while len(frames) > 1:
        pairs = [frames[first : first + 2] for first in range(0, len(frames), 2)]
        frames = [functools.reduce(lambda one, other: one.union(other), pair) for pair in pairs]
    return frames[0]
