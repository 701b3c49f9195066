"""Random pipelines give the same panes in one process and on the engine's parts, through every fault."""

from __future__ import annotations

import functools
import os
import random
from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from support.pipelines.random_pipelines import SOURCES, Node, RandomPipeline, Timed, shapes
from support.tasks.faulty_links import ForgetfulLinks, WatermarkLoss

from heronpy.pipeline.times import BEGINNING, to_datetime
from heronpy.planner import planning
from heronpy.testing import PipelineTest
from heronpy.testing.pipelines import stand_in_master

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


class Played(NamedTuple):
    """What happens to a pipeline while it is fed."""

    shape: list[Node]
    records: list[tuple[str, Timed]]
    faults: list[Fault]
    seed: int | None

    @property
    def arrived(self) -> dict[str, list[Timed]]:
        return {name: arriving([one for source, one in self.records if source == name]) for name in SOURCES}


PLAYED = st.builds(
    Played,
    shapes(),
    st.lists(
        st.tuples(st.sampled_from(SOURCES), st.tuples(st.integers(0, 59), st.integers(0, 99))),
        min_size=1,
        max_size=20,
    ),
    st.lists(FAULTS, max_size=5),
    st.none() | st.integers(0, 9),
)


def on_the_kit(played: Played, loss: WatermarkLoss) -> dict[str, Counter[Any]]:
    """What each sink was given; watermarks are lost until the sources end."""
    made = RandomPipeline(played.shape, played.arrived)
    waiting = {name: iter(fed) for name, fed in played.arrived.items()}
    with (
        patch.object(stand_in_master, "MemoryLinks", functools.partial(ForgetfulLinks, loss)),
        PipelineTest(made.pipeline, par=2, splits=2, seed=played.seed) as run,
    ):
        before = watermarks(run, made)
        for number, (source, _) in enumerate(played.records):
            run.feed(source, next(waiting[source]), split=str(number % 2))
            for fault in (one for one in played.faults if one.after == number):
                befall(run, made, fault)
                if fault.kind == "crash":
                    before = watermarks(run, made)
            now = watermarks(run, made)
            assert all(old <= new for old, new in zip(before, now, strict=True)), "a watermark went back"
            before = now
        if loss.total:
            assert before == [to_datetime(BEGINNING)] * len(made.windowed), "a watermark has come through"
        loss.calm()
        for source in SOURCES:
            run.finish(source)
        run.checkpoint()
        assert {step: run.late_dropped(step) for step in made.windowed} == dict.fromkeys(made.windowed, 0)
        return {name: Counter(run.committed(name)) for name in made.sinks}


@settings(max_examples=PIPELINES)
@given(played=PLAYED, share=st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_a_random_pipeline_gives_the_same_panes_everywhere(played: Played, share: float) -> None:
    here = RandomPipeline(played.shape, played.arrived)
    here.pipeline.run()
    loss = WatermarkLoss(random.Random(str(played)), share)
    expected = {name: Counter(sink.records) for name, sink in here.sinks.items()}
    assert on_the_kit(played, loss) == expected


@settings(max_examples=-(-PIPELINES // 3))
@given(played=PLAYED, windows=st.sampled_from(["tumbling", "sliding"]), keys=st.integers(1, 4))
def test_a_random_pipeline_gives_the_same_panes_in_one_stage_and_in_two(
    played: Played, windows: str, keys: int
) -> None:
    """Behind the first source there is always something that has two stages."""
    played = played._replace(shape=[Node("window", (0, 0), windows, keys, 2), *played.shape])

    def panes() -> dict[str, Counter[Any]]:
        return on_the_kit(played, WatermarkLoss(random.Random(0), 0.0))

    graph = RandomPipeline(played.shape, played.arrived).pipeline.graph()
    assert "window0¹" in [step.name for step in planning.planned(graph).steps]
    in_two = panes()
    with patch.object(planning, "lifted", lambda graph: graph):
        assert panes() == in_two
