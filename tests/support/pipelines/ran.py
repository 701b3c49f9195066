"""What a pipeline makes of some values, run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from heronpy.pipeline import Pipeline, Stream, sinks, sources


def ran(values: Iterable[Any], steps: Callable[[Stream[Any]], Stream[Any]]) -> list[Any]:
    """The records that come out behind the steps."""
    p, kept = Pipeline("p"), sinks.collected()
    steps(p.read(sources.items(values), name="values")).write(kept)
    p.run()
    return kept.records
