"""Streams as they are written: nothing runs, nothing changes, every step has a name."""

from __future__ import annotations

import functools
from pathlib import Path

from heronpy.pipeline import Pipeline, agg, sinks, sources
from heronpy.pipeline.graph import MATCHING, OTHERS, StepInput


def never(record: object) -> object:
    raise AssertionError(record)


def test_nothing_runs_while_steps_are_written() -> None:
    kept = sinks.collected()
    Pipeline("p").read(sources.items([1])).map(never).filter(never).write(kept)  # type: ignore[arg-type]
    assert kept.records == []


def test_a_stream_is_not_changed_by_the_steps_behind_it() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"]), name="words")
    words.map(str.lower)
    words.map(str.upper)
    assert [step.inputs for step in p.graph().steps] == [(), (StepInput("words"),), (StepInput("words"),)]


def test_a_step_is_called_by_its_operation_and_function_with_a_number_if_that_is_taken() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"])).flat_map(str.split).filter(lambda w: w > "b").map(str.lower)
    words.map(str.lower).map(functools.partial(str.replace, "a")).only(str)
    keyed = words.key_by(str.lower)
    keyed.count()
    keyed.count()
    keyed.aggregate(agg.mean(len))
    keyed.join(keyed)
    words.write(sinks.printed())
    words.map(str.lower, name="small")
    assert {step.name: step.derived for step in p.graph().steps} == {
        "items": True,
        "flat_map:split": True,
        "filter": True,
        "map:lower": True,
        "map:lower-2": True,
        "map:partial": True,
        "only:str": True,
        "key_by:lower": True,
        "count": True,
        "count-2": True,
        "aggregate:mean": True,
        "join": True,
        "printed": True,
        "small": False,
    }


def test_a_step_knows_the_line_that_wrote_it() -> None:
    p = Pipeline("p")
    p.read(sources.items(["a"])).map(str.lower)
    here = Path(__file__).read_text().splitlines()
    line = here.index('    p.read(sources.items(["a"])).map(str.lower)') + 1
    assert [str(step.site) for step in p.graph().steps] == [f"test_streams.py:{line}"] * 2


def test_a_partition_is_one_step_with_two_outputs() -> None:
    p = Pipeline("p")
    long, short = p.read(sources.items(["a"])).partition(lambda w: len(w) > 3, name="long")
    long.map(str.lower, name="a")
    short.map(str.lower, name="b")
    assert p.graph()["a"].inputs == (StepInput("long", MATCHING),)
    assert p.graph()["b"].inputs == (StepInput("long", OTHERS),)
