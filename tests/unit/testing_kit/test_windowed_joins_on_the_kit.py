"""Joins in windows: who has nobody on the other side is there or not, as `how` says, whatever happens."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources, tumbling
from heronpy.testing import PipelineTest, at

#: key and number; `c` comes on both sides, but in different minutes
LEFT = [
    at("12:00:10", ("a", 1)),
    at("12:00:20", ("a", 2)),
    at("12:00:30", ("b", 3)),
    at("12:00:40", ("c", 4)),
]
RIGHT = [at("12:00:50", ("a", 10)), at("12:01:10", ("c", 40)), at("12:00:15", ("d", 50))]
INNER = [("a", 1, 10), ("a", 2, 10)]
ONLY_LEFT: list[Any] = [("b", 3, None), ("c", 4, None)]
ONLY_RIGHT: list[Any] = [("c", None, 40), ("d", None, 50)]


def joined(how: Any) -> Pipeline:
    p = Pipeline("joined")
    left, right = (
        p.read(sources.items(list[tuple[str, int]]()), name=name)
        .event_time(lambda _: 0, unit="s", lag="0s", name=f"{name}.timed")
        .key_by(lambda pair: pair[0])
        for name in ("left", "right")
    )
    left.window(tumbling("1m")).join(right, how=how, name="join").write(sinks.printed())
    return p


def number(side: tuple[str, int] | None) -> int | None:
    return None if side is None else side[1]


@pytest.mark.parametrize("mishap", ["none", "crash", "rescale"])
@pytest.mark.parametrize(
    ("how", "pairs"),
    [
        ("inner", INNER),
        ("left", INNER + ONLY_LEFT),
        ("right", INNER + ONLY_RIGHT),
        ("outer", INNER + ONLY_LEFT + ONLY_RIGHT),
    ],
)
def test_a_join_in_windows_has_those_that_are_alone_as_it_says(
    how: str, pairs: list[tuple[str, int | None, int | None]], mishap: str
) -> None:
    with PipelineTest(joined(how), par=2, splits=2) as run:
        run.feed("left", *LEFT[:2])
        run.feed("right", *RIGHT[:2])
        run.checkpoint()
        if mishap == "crash":
            run.crash("join")
        elif mishap == "rescale":
            run.rescale("join", 3)
        run.feed("left", *LEFT[2:])
        run.feed("right", *RIGHT[2:])
        assert run.results("join") == []
        run.watermark("left", "12:05")
        assert run.results("join") == [], "the other side may still have something"
        run.watermark("right", "12:05")
        found = [(one.key, *map(number, one.value)) for one in run.results("join")]
        assert Counter(found) == Counter(pairs)
