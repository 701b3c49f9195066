"""What Spark calls in its Python workers. It travels by value: heronpy may not be importable there yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


class Places(NamedTuple):
    """Where a worker finds code and plan."""

    #: name of the archive among Spark's files; empty if the worker runs on the driver's machine
    archive: str
    #: folders in it, or absolute ones: those that come first on sys.path, and those that come last
    first: tuple[str, ...]
    last: tuple[str, ...]
    #: name of the file with the plan among Spark's files
    plan: str


def carried(places: Places, chain: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function of one chain, for `mapInArrow`."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import SparkFiles, TaskContext

        folder = os.path.join(SparkFiles.getRootDirectory(), places.archive)
        first = [os.path.join(folder, path) for path in places.first]
        last = [os.path.join(folder, path) for path in places.last]
        others = [path for path in sys.path if path not in (*first, *last)]
        sys.path[:] = [*first, *others, *last]
        from heronpy.plugins.runner.spark.worker.chain_worker import run_chain

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        yield from run_chain(SparkFiles.get(places.plan), chain, task, batches)

    return run
