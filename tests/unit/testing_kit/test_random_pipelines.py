"""Random pipelines give the same panes in one process and on the engine's parts, through every fault."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import datetime
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from support.pipelines.random_pipelines import SOURCES, Node, RandomPipeline, Timed, shapes

from heronpy.testing import PipelineTest

PIPELINES = int(os.environ.get("RANDOM_PIPELINES", "15"))


class Fault(NamedTuple):
    """What happens when so many records were fed; the step is one of those that there are, by its number."""

    after: int
    kind: str
    step: int
    tasks: int


FAULTS = st.builds(
    Fault,
    st.integers(0, 19),
    st.sampled_from(["checkpoint", "crash", "rescale"]),
    st.integers(0, 9),
    st.integers(1, 3),
)


def arriving(records: list[Timed]) -> list[Timed]:
    """Less than 5 s out of order, as the lag of the sources allows."""
    dice = random.Random(str(records))
    return sorted(records, key=lambda record: record[0] + dice.random() * 5)


def befall(run: PipelineTest, made: RandomPipeline, fault: Fault) -> None:
    step = made.steps[fault.step % len(made.steps)]
    match fault.kind:
        case "checkpoint":
            run.checkpoint()
        case "crash":
            run.crash(step)
        case "rescale":
            run.rescale(step, fault.tasks)


def watermarks(run: PipelineTest, made: RandomPipeline) -> list[datetime]:
    return [run.watermark_of(step) for step in made.windowed]


@settings(max_examples=PIPELINES)
@given(
    shape=shapes(),
    records=st.lists(
        st.tuples(st.sampled_from(SOURCES), st.tuples(st.integers(0, 59), st.integers(0, 99))),
        min_size=1,
        max_size=20,
    ),
    faults=st.lists(FAULTS, max_size=5),
    seed=st.none() | st.integers(0, 9),
)
def test_a_random_pipeline_gives_the_same_panes_everywhere(
    shape: list[Node], records: list[tuple[str, Timed]], faults: list[Fault], seed: int | None
) -> None:
    arrived = {name: arriving([one for source, one in records if source == name]) for name in SOURCES}
    here = RandomPipeline(shape, arrived)
    here.pipeline.run()
    expected = {name: Counter(sink.records) for name, sink in here.sinks.items()}

    made = RandomPipeline(shape, arrived)
    waiting = {name: iter(arrived[name]) for name in SOURCES}
    with PipelineTest(made.pipeline, par=2, splits=2, seed=seed) as run:
        before = watermarks(run, made)
        for number, (source, _) in enumerate(records):
            run.feed(source, next(waiting[source]), split=str(number % 2))
            for fault in (one for one in faults if one.after == number):
                befall(run, made, fault)
                if fault.kind == "crash":
                    before = watermarks(run, made)
            now = watermarks(run, made)
            assert all(old <= new for old, new in zip(before, now, strict=True)), "a watermark went back"
            before = now
        for source in SOURCES:
            run.finish(source)
        run.checkpoint()
        assert {step: run.late_dropped(step) for step in made.windowed} == dict.fromkeys(made.windowed, 0)
        assert {name: Counter(run.committed(name)) for name in made.sinks} == expected
