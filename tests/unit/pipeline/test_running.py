"""Pipelines in the calling process: `p.run()` and `python file.py`."""

from __future__ import annotations

import asyncio
import datetime
import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heronpy import UserError
from heronpy.operators.failing import StepFailed
from heronpy.pipeline import Context, Pipeline, Tag, pipeline, sinks, sources
from heronpy.stages.call_loop import pause_after
from heronpy.submissions import submissions

WORD_COUNT = """\
from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

p = Pipeline("wordcount")
(p.read(sources.lines("book.txt"))
  .flat_map(str.split)
  .key_by(str.lower).count()
  .write(sinks.printed()))
p.run()
"""


def test_a_word_count_of_a_file_prints_its_counts_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "wordcount.py").write_text(WORD_COUNT)
    (tmp_path / "book.txt").write_text("To be or\nnot to be\n" * 2000)
    done = subprocess.run(
        [sys.executable, "wordcount.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("('to', 4000)\n('be', 4000)\n('or', 2000)\n('not', 2000)\n", "")


def test_the_example_in_the_docstring_is_true() -> None:
    assert doctest.testmod(pipeline).failed == 0
    assert doctest.testmod(pipeline).attempted > 3


def test_where_a_file_is_only_loaded_run_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    p, kept = Pipeline("p"), sinks.collected()
    p.read(sources.items([1])).write(kept)
    with monkeypatch.context() as patched:
        patched.setattr(submissions, "ignored", True)
        p.run()
    with monkeypatch.context() as patched:
        patched.setattr(submissions, "collected", [])
        p.run()
    assert kept.records == []
    p.run()
    assert kept.records == [1]


def test_a_runner_that_programs_cannot_call_or_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["wordcount.py"])
    with pytest.raises(UserError) as caught:
        Pipeline("p").run("engine")
    assert str(caught.value) == (
        "the runner 'engine' cannot be called from a program"
        " (try: heronpy run wordcount.py --runner engine, or heronpy submit wordcount.py)"
    )
    with pytest.raises(UserError, match=r"^no runner plugin named 'locla'; did you mean 'local'\?$"):
        Pipeline("p").run("locla")


def test_several_sources_and_sinks_run_side_by_side() -> None:
    p, all_of_them, large = Pipeline("p"), sinks.collected(), sinks.collected()
    numbers = p.read(sources.items(range(3000), parts=3)).merge(p.read(sources.items(range(3000, 3010))))
    numbers.write(all_of_them)
    numbers.filter(lambda n: n >= 3005).write(large)
    p.run()
    assert sorted(all_of_them.records) == list(range(3010))
    assert sorted(large.records) == [3005, 3006, 3007, 3008, 3009]


def test_no_records_make_no_results() -> None:
    p, kept = Pipeline("p"), sinks.collected()
    nothing: list[str] = []
    words = p.read(sources.items(nothing))
    words.key_by(len).count().write(kept)
    words.count().write(kept)
    p.run()
    assert kept.records == []


def route(state: dict[str, int], word: str, context: Context[int]) -> Iterator[str]:
    if word.isupper():
        context.side(LOUD, word)
    else:
        yield word


LOUD = Tag[str]("loud")


def test_side_outputs_are_streams_of_their_own() -> None:
    p, quiet, loud = Pipeline("p"), sinks.collected(), sinks.collected()
    routed = p.read(sources.items(["to", "BE", "or"])).key_by(len).process(dict[str, int], route)
    routed.write(quiet)
    routed[LOUD].map(str.lower).write(loud)
    p.run()
    assert (quiet.records, loud.records) == (["to", "or"], ["be"])


def test_a_missing_file_is_named_before_anything_runs(tmp_path: Path) -> None:
    p, kept = Pipeline("p"), sinks.collected()
    p.read(sources.items([1])).write(kept)
    p.read(sources.lines(str(tmp_path / "missing.txt"))).write(kept)
    with pytest.raises(UserError, match=r"missing\.txt"):
        p.run()
    assert kept.records == []


async def inverse(n: int) -> float:
    for _ in range(10 - n):
        await asyncio.sleep(0)
    return 6 / n


@pytest.mark.parametrize("ordered", [True, False])
def test_calls_are_awaited_side_by_side_and_keep_their_order_if_asked(ordered: bool) -> None:
    p, kept = Pipeline("p"), sinks.collected()
    p.read(sources.items([1, 2, 3, 6])).map_async(inverse, at_once=4, ordered=ordered).write(kept)
    p.run()
    assert kept.records == ([6.0, 3.0, 2.0, 1.0] if ordered else [1.0, 2.0, 3.0, 6.0])


def test_at_most_so_many_calls_are_under_way() -> None:
    under_way: list[int] = []
    most: list[int] = []

    async def watched(n: int) -> int:
        under_way.append(n)
        most.append(len(under_way))
        await asyncio.sleep(0)
        under_way.remove(n)
        return n

    p, kept = Pipeline("p"), sinks.collected()
    p.read(sources.items(range(100))).map_async(watched, at_once=7).write(kept)
    p.run()
    assert kept.records == list(range(100))
    assert max(most) == 7


def test_a_call_that_fails_ends_the_run_or_is_set_aside() -> None:
    p, kept, aside = Pipeline("p"), sinks.collected(), sinks.collected()
    called: Any = p.read(sources.items([1, 0])).map_async(inverse, at_once=4, on_error="aside", name="call")
    called.write(kept)
    called.errors.map(lambda failed: (failed.record, failed.step)).write(aside)
    p.run()
    assert (kept.records, aside.records) == ([6.0], [(0, "call")])
    strict = Pipeline("p")
    strict.read(sources.items([1, 0])).map_async(inverse, at_once=4, name="call").write(kept)
    with pytest.raises(
        StepFailed, match=r"^step 'call' failed at test_running.py:\d+: ZeroDivisionError: .*, for"
    ):
        strict.run()


def test_a_call_is_made_again_until_it_has_a_result_or_no_try_is_left() -> None:
    calls: list[int] = []

    async def at_the_third(n: int) -> int:
        calls.append(n)
        if n == 0 or calls.count(n) < 3:
            msg = "busy"
            raise ConnectionError(msg)
        return n

    p, kept, aside = Pipeline("p"), sinks.collected(), sinks.collected()
    called = p.read(sources.items([1, 0])).map_async(at_the_third, at_once=2, retries=2, on_error="aside")
    called.write(kept)
    called.errors.map(lambda failed: (failed.record, failed.error)).write(aside)
    p.run()
    assert (kept.records, aside.records) == ([1], [(0, "ConnectionError: busy")])
    assert sorted(calls) == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("timeout", ["10ms", 0.01, datetime.timedelta(milliseconds=10)])
def test_a_call_without_an_answer_in_time_has_failed(timeout: str | float | datetime.timedelta) -> None:
    async def answer(n: int) -> int:
        if n == 2:
            await asyncio.Event().wait()
        if n == 3:
            raise TimeoutError("of its own")  # noqa: EM101
        return n

    p, kept, aside = Pipeline("p"), sinks.collected(), sinks.collected()
    answers = p.read(sources.items([1, 2, 3])).map_async(
        answer, at_once=2, timeout=timeout, on_error="aside", name="ask"
    )
    answers.write(kept)
    answers.errors.map(lambda failed: (failed.record, failed.error)).write(aside)
    p.run()
    assert kept.records == [1]
    assert sorted(aside.records) == [
        (2, "TimeoutError: no answer within 10ms"),
        (3, "TimeoutError: of its own"),
    ]


def test_pauses_between_calls_double_up_to_ten_seconds_and_differ_by_chance() -> None:
    assert [pause_after(tries, chance=1.0) for tries in range(9)] == [
        *(0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4),
        *(10.0, 10.0),
    ]
    assert [pause_after(tries, chance=0.0) for tries in (0, 1, 20)] == [0.05, 0.1, 5.0]


def test_a_program_that_does_not_catch_an_error_shows_it_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "shares.py"
    file.write_text(
        "from heronpy import Pipeline\n"
        "from heronpy.pipeline import sinks, sources\n"
        "p = Pipeline('shares')\n"
        "p.read(sources.items([1, 0])).map(lambda n: 6 // n).write(sinks.collected())\n"
        "p.run()\n"
    )
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[-1] == (
        "error: step 'map' failed at shares.py:4: ZeroDivisionError: integer division or modulo by zero,"
        " for the record 0"
    )
    assert "heronpy/" not in ran.stderr
