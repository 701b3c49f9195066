"""The examples in the docstrings of streams are true."""

from __future__ import annotations

import doctest
from collections.abc import Iterable
from typing import Any

import pytest

from heronpy.pipeline import (
    Context,
    Pipeline,
    Stream,
    Tag,
    agg,
    keyed_streams,
    sessions,
    sinks,
    sliding,
    sources,
    streams,
    tumbling,
    windowed,
)

EXAMPLES = [
    example
    for module in (streams, keyed_streams, windowed)
    for example in doctest.DocTestFinder().find(module)
    if example.examples
]


def test_each_step_has_an_example() -> None:
    shown = {example.name.rpartition(".")[2] for example in EXAMPLES}
    steps = {name for name in {*vars(streams.Stream), *vars(keyed_streams.KeyedStream)} if name[0] != "_"}
    assert steps - shown == {"bounded", "key_by", "rebalance", "timed", "write"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_is_true(example: doctest.DocTest) -> None:
    p = Pipeline("examples")

    def made(stream: Stream[Any]) -> list[Any]:
        kept = sinks.collected()
        stream.write(kept)
        p.run()
        return list(kept.records)

    words = p.read(sources.items(["to", "be", "or", "not", "to", "be"]))
    example.globs = {
        "Context": Context,
        "Iterable": Iterable,
        "Tag": Tag,
        "agg": agg,
        "made": made,
        "p": p,
        "sessions": sessions,
        "sliding": sliding,
        "sources": sources,
        "tumbling": tumbling,
        "words": words,
    }
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example).failed == 0
