"""A function that raises: the error names step, line and record, or the record is skipped or set aside."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.pipelines.ran import ran

from heronpy.operators.failing import StepFailed
from heronpy.operators.stage_logic import StageLogic
from heronpy.pipeline import Context, Failed, Pipeline, Stream, Tag, agg, sinks, sources
from heronpy.planner.planning import planned


def inverse(n: int) -> float:
    return 6 / n  # here it fails


def inverses(n: int) -> Iterator[float]:
    yield 0.0
    yield 6 / n  # here it fails


def stop(n: int) -> int:
    return next(iter(()))  # here it fails


def kept(state: list[int], n: int, context: Context[int]) -> Iterator[float]:
    state.append(n)
    context.side(Tag[int]("all"), n)
    yield 6 / n  # here it fails


FAILING: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "map:inverse": lambda s: s.map(inverse),
    "map:stop": lambda s: s.filter(lambda n: n == 0).map(stop),
    "behind_only": lambda s: s.flat_map(lambda n: [n, str(n)]).only(int).map(inverse, name="behind_only"),
    "flat_map:inverses": lambda s: s.flat_map(inverses),
    "filter:inverse": lambda s: s.filter(inverse),  # type: ignore[arg-type]
    "partition:inverse": lambda s: s.partition(inverse)[0],  # type: ignore[arg-type]
    "key_by:inverse": lambda s: s.key_by(inverse).count(),
    "process:kept": lambda s: s.key_by(abs).process(list[int], kept),
    "aggregate:sum": lambda s: s.key_by(abs).aggregate(agg.sum(inverse)),
    "rolling:sum": lambda s: s.key_by(abs).rolling(agg.sum(inverse)),
    "hash_join": lambda s: s.hash_join(s, on=inverse, key=float),
}


@pytest.mark.parametrize("step", FAILING)
def test_an_error_names_the_step_the_users_line_and_the_record(step: str) -> None:
    with pytest.raises(StepFailed) as failed:
        ran([1, 2, 0, 3], FAILING[step])
    line = Path(__file__).read_text().splitlines()[failed.value.site.line - 1]
    assert line.endswith("# here it fails")
    assert re.fullmatch(
        rf"step '{step}' failed at test_failing.py:\d+: (ZeroDivisionError: division by zero|StopIteration),"
        " for the record 0",
        str(failed.value),
    )


def test_an_error_in_what_is_not_python_names_the_line_that_wrote_the_step() -> None:
    with pytest.raises(StepFailed) as failed:
        ran(["1", "x"], lambda s: s.map(int, name="parse"))
    assert "s.map(int, name=" in Path(__file__).read_text().splitlines()[failed.value.site.line - 1]
    assert str(failed.value) == (
        f"step 'parse' failed at {failed.value.site}: ValueError: invalid literal for int() with base 10:"
        " 'x', for the record 'x'"
    )


@pytest.mark.parametrize("step", ["map", "filter", "flat_map", "partition"])
def test_a_record_that_is_set_aside_leaves_nothing_else_behind(step: str) -> None:
    p, made, aside = Pipeline("p"), sinks.collected(), sinks.collected()
    numbers: Stream[Any] = p.read(sources.items([1, 0, 3]))
    stream: Stream[Any]
    if step == "partition":
        stream = numbers.partition(lambda n: 6 / n > 3, on_error="aside")[0]
    else:
        fn = inverses if step == "flat_map" else inverse
        stream = getattr(numbers, step)(fn, on_error="aside", name="s")
    stream.write(made)
    stream.errors.write(aside)
    p.run()
    expected = {"map": [6.0, 2.0], "filter": [1, 3], "flat_map": [0.0, 6.0, 0.0, 2.0], "partition": [1]}
    assert made.records == expected[step]
    (failure,) = aside.records
    assert isinstance(failure, Failed)
    assert (failure.record, failure.error) == (0, "ZeroDivisionError: division by zero")
    assert "test_failing.py" in failure.traceback
    assert "stateless.py" not in failure.traceback


def test_process_takes_side_outputs_of_a_failed_record_back() -> None:
    p, made, side = Pipeline("p"), sinks.collected(), sinks.collected()
    stream = p.read(sources.items([1, 0, 3])).key_by(abs).process(list[int], kept, on_error="skip")
    stream.write(made)
    stream[Tag[int]("all")].write(side)
    p.run()
    assert made.records == [6.0, 2.0]
    assert side.records == [1, 3]


def test_skipped_records_are_counted_by_step() -> None:
    p = Pipeline("p")
    p.read(sources.items([1, 0, 0]), name="numbers").map(inverse, on_error="skip").write(sinks.collected())
    logic = StageLogic(planned(p.graph()), "numbers")
    logic.take("numbers", 0, [1, 0, 0])
    assert logic.failed == {"map:inverse": 2}
    assert list(logic.fetch().values()) == [[6.0]]
    assert logic.fetch() == {}


@pytest.mark.parametrize("key", [[1], {1: 2}, frozenset({1}), object()])
def test_what_not_every_runner_could_route_is_no_key(key: Any) -> None:
    with pytest.raises(
        StepFailed, match=r"step 'count' failed at .*: TypeError: an? \w+ cannot be a key: use"
    ):
        ran([1], lambda s: s.key_by(lambda n: key).count())


def test_a_process_that_returns_nothing_is_told_what_to_do() -> None:
    def forgot(state: list[int], n: int, context: Context[int]) -> Iterable[int]:
        state.append(n)
        return None  # type: ignore[return-value]

    with pytest.raises(
        StepFailed, match=r"'process:forgot' failed .* returned None: return a list, or yield"
    ):
        ran([1], lambda s: s.key_by(abs).process(list[int], forgot))
    with pytest.raises(
        StepFailed, match=r"'flat_map:clear' failed .* returned None: return a list, or yield"
    ):
        ran([[1]], lambda s: s.flat_map(list.clear))  # type: ignore[arg-type]


def test_nothing_is_visible_of_a_run_that_failed() -> None:
    p, made = Pipeline("p"), sinks.collected()
    p.read(sources.items(range(5000))).map(lambda n: 1 // (n - 4999)).write(made)
    with contextlib.suppress(StepFailed):
        p.run()
    assert made.records == []
