"""The golden panes through planned stages: frames, credit, watermarks and alarms of the engine."""

from __future__ import annotations

from typing import Any

import pytest
from support.pipelines.golden_panes import GOLDEN, MINUTES, RECORDS, SESSIONS, table
from support.pipelines.window_script import at as micros_of

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources
from heronpy.pipeline.times import END
from heronpy.planner.planning import planned
from heronpy.testing import PipelineTest, at

#: without lateness, the nine is late
LATE_NINE = "4b fixed, the watermark guesses"
#: where no trigger counts records, and none reads the late ones, sums begin in the stage of the source
IN_TWO_STAGES = [name for name in GOLDEN if not name.startswith("2b")]


def pipeline_of(windows: Any, how: dict[str, Any], *, reads_late: bool = True) -> Pipeline:
    p = Pipeline("golden")
    numbers = p.read(sources.items(list[int]()), name="numbers")
    timed = numbers.event_time(lambda _: 0, unit="s", lag="0s").key_by(lambda _: "k")
    spread = {**how, "lateness": how.get("lateness", 0) / 1_000_000}
    results = timed.window(windows, **spread).sum(lambda number: number, name="sum")
    results.write(sinks.printed(), name="shown")
    if reads_late:
        results.late.write(sinks.printed(), name="aside")
    return p


def played(run: PipelineTest, watermarks: list[tuple[str, str]]) -> list[Any]:
    """Each pane with the time at which it was seen."""
    events: list[tuple[int, int, str, Any]] = [(micros_of(m), 0, m, None) for m in MINUTES]
    events += [(micros_of(when), 1, when, watermark) for when, watermark in watermarks]
    events += [(micros_of(arrival), 2, arrival, (time, value)) for time, arrival, value in RECORDS]
    panes: list[Any] = []
    for now, kind, when, what in sorted(events, key=lambda event: event[:2]):
        run.advance_to(when)
        if kind == 1:
            run.watermark("numbers", what)
        elif kind == 2:
            run.feed("numbers", at(*what))
        panes += [(now, result) for result in run.results("sum")[len(panes) :]]
    run.finish("numbers")
    return [*panes, *((END, result) for result in run.results("sum")[len(panes) :])]


@pytest.mark.parametrize("par", [1, 2])
@pytest.mark.parametrize("example", GOLDEN)
def test_an_example_shows_its_panes(example: str, par: int) -> None:
    windows, watermarks, how, expected = GOLDEN[example]
    with PipelineTest(pipeline_of(windows, how), now="12:04", par=par) as run:
        assert table(played(run, watermarks)) == expected
        assert run.late("sum") == ([9] if example == LATE_NINE else [])


@pytest.mark.parametrize("par", [1, 2])
@pytest.mark.parametrize("example", IN_TWO_STAGES)
def test_an_example_in_two_stages_shows_the_same_panes(example: str, par: int) -> None:
    windows, watermarks, how, expected = GOLDEN[example]
    pipeline = pipeline_of(windows, how, reads_late=False)
    assert "sum¹" in [step.name for step in planned(pipeline.graph()).steps]
    with PipelineTest(pipeline, now="12:04", par=par) as run:
        assert table(played(run, watermarks)) == expected
        assert run.late_dropped("sum") == (1 if example == LATE_NINE else 0)


def test_sessions_take_back_what_they_have_become_part_of() -> None:
    windows, watermarks, how, expected = SESSIONS
    with PipelineTest(pipeline_of(windows, how), now="12:04") as run:
        assert table(played(run, watermarks), ends=True) == expected


@pytest.mark.parametrize(
    ("example", "reads_late"),
    [
        *((name, True) for name in GOLDEN if name[0] in "45"),
        ("4a fixed, the watermark knows", False),
        ("5 discarding", False),
    ],
)
def test_checkpoints_crashes_and_rescaling_anywhere_show_the_same_panes(
    example: str, reads_late: bool
) -> None:
    """At each step of the script, another fault."""
    windows, watermarks, how, expected = GOLDEN[example]
    events = sorted(
        [(micros_of(when), 1, ("watermark", "numbers", watermark)) for when, watermark in watermarks]
        + [(micros_of(arrival), 2, ("feed", "numbers", at(time, value))) for time, arrival, value in RECORDS]
        + [(micros_of(minute), 0, ("advance_to", minute)) for minute in MINUTES]
    )
    shown = [line.split(": ", 1)[1] for line in expected]
    for fault in range(len(events)):
        pipeline = pipeline_of(windows, how, reads_late=reads_late)
        with PipelineTest(pipeline, now="12:04", par=2) as run:
            for number, (_, _, step) in enumerate(events):
                if step[0] != "advance_to":
                    run.advance_to(_clock(events[number][0]))
                run.script([step])
                if number == fault:
                    run.script([("checkpoint",), ("crash", "sum"), ("rescale", "sum", 1 + number % 3)])
            run.finish("numbers")
            run.checkpoint()
            seen = table([(0, result) for result in run.committed("sum")])
            assert seen == [f"00:00: {', '.join(shown)}"], f"after {events[fault]}"


def _clock(micros: int) -> str:
    seconds = micros // 1_000_000
    return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
