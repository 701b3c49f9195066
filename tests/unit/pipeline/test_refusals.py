"""What a pipeline refuses while it is written: a sentence each, with what to write instead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from support.pipelines.endless import EndlessSource

from heronpy import UserError
from heronpy.pipeline import Pipeline, Stream, Tag, agg, sources


@pytest.fixture
def words() -> Stream[str]:
    return Pipeline("p").read(sources.items(["to", "be"]), name="words")


@pytest.fixture
def endless() -> Stream[str]:
    return Pipeline("p").read(EndlessSource(), name="clicks")


async def look_up(word: str) -> str:
    return word


async def look_up_all(word: str) -> AsyncIterator[str]:
    yield word


def letters(word: str) -> Iterator[str]:
    yield from word


OF_A_STREAM_THAT_NEVER_ENDS: dict[str, Callable[[Stream[str]], object]] = {
    "aggregate": lambda s: s.key_by(len).aggregate(agg.count()),
    "count": lambda s: s.key_by(len).count(),
    "top": lambda s: s.key_by(len).top(2, by=len),
    "join": lambda s: s.key_by(len).join(s.key_by(len)),
    "co_group": lambda s: s.key_by(len).co_group(s.key_by(len)),
}


@pytest.mark.parametrize("word", OF_A_STREAM_THAT_NEVER_ENDS)
def test_a_stream_that_never_ends_has_no_result_at_its_end(word: str, endless: Stream[str]) -> None:
    with pytest.raises(UserError) as refused:
        OF_A_STREAM_THAT_NEVER_ENDS[word](endless)
    assert str(refused.value) == (
        f"{word} of 'clicks', a stream that never ends: when should it speak?"
        " (try: .window(…), or .rolling(…) for a result per record)"
    )


@pytest.mark.parametrize("word", ["aggregate", "count", "top"])
def test_nor_have_all_its_records_together(word: str, endless: Stream[str]) -> None:
    steps: dict[str, Callable[[], object]] = {
        "aggregate": lambda: endless.aggregate(agg.count()),
        "count": lambda: endless.count(),
        "top": lambda: endless.top(1, by=len),
    }
    with pytest.raises(UserError, match=f"^{word} of 'clicks', a stream that never ends"):
        steps[word]()


def test_what_speaks_for_each_record_needs_no_end(endless: Stream[str]) -> None:
    assert not endless.key_by(len).rolling(agg.count()).bounded
    assert not endless.key_by(len).dedup().bounded


def test_a_table_that_never_ends_would_be_waited_for_for_ever(words: Stream[str]) -> None:
    p = Pipeline("p")
    with pytest.raises(UserError) as refused:
        p.read(sources.items(["a"])).hash_join(p.read(EndlessSource()), on=len, key=len)
    assert str(refused.value) == (
        "hash_join with 'endless', which never ends, would wait for ever for its table"
        " (try: a table from a bounded source, or .merge(…).key_by(…).process(…))"
    )


def test_a_name_stands_for_one_step(words: Stream[str]) -> None:
    words.map(str.lower, name="lower")
    with pytest.raises(UserError, match=r"^the name 'lower' at test_refusals.py:\d+ is taken by the step at"):
        words.map(str.upper, name="lower")


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "no function": (
        lambda s: s.map("lower"),
        "map takes a function, got 'lower' (try: .map(lambda record: …))",
    ),
    "async": (
        lambda s: s.map(look_up),
        "map does not await, and look_up is async (try: .map_async(fn, at_once=100))",
    ),
    "async generator": (
        lambda s: s.flat_map(look_up_all),
        "flat_map does not await, and look_up_all is async (try: .map_async(fn, at_once=100))",
    ),
    "generator": (
        lambda s: s.map(letters),
        "map takes a function that returns one value, and letters yields (try: .flat_map(letters))",
    ),
    "on_error": (
        lambda s: s.map(len, on_error="ignore"),
        "map: on_error='ignore' is not known (try: on_error='fail', 'skip' or 'aside')",
    ),
    "par": (
        lambda s: s.map(len, par=0),
        "map: par=0 is not a number of tasks (try: par=1 or more, or leave it out)",
    ),
    "how of a hash join": (
        lambda s: s.hash_join(s, on=len, key=len, how="outer"),
        "hash_join: how='outer' is not known (try: how='inner' or how='left')",
    ),
    "how of a join": (
        lambda s: s.key_by(len).join(s.key_by(len), how="cross"),
        "join: how='cross' is not known (try: how='inner' or how='left' or how='right' or how='outer')",
    ),
    "join without a key": (
        lambda s: s.key_by(len).join(s),
        "join takes a keyed stream, got <stream of words> (try: .join(other.key_by(…)))",
    ),
    "merge with a key": (
        lambda s: s.merge(s.key_by(len)),
        "merge takes streams, got <stream of words by key_by:len> (try: the stream before its .key_by(…))",
    ),
    "no class": (
        lambda s: s.only("str"),
        "only takes classes, got 'str' (try: .only(Bid), or .filter(lambda record: …))",
    ),
    "no aggregate": (
        lambda s: s.key_by(len).aggregate(sum),
        "aggregate takes an aggregate, got <built-in function sum>"
        " (try: agg.sum(fn), or agg.fold(create, add))",
    ),
    "errors that nothing sends": (
        lambda s: s.map(len).errors,
        "'map:len' sends no errors aside (try: on_error='aside' for that step)",
    ),
    "side output of a map": (
        lambda s: s.map(len)[Tag("slow")],
        "'map:len' has no side output 'slow': only process has side outputs"
        " (try: .partition(fn), or context.side(tag, value) in .process(state, fn))",
    ),
    "position": (
        lambda s: s[0],
        "'words'[0]: a stream has side outputs, not positions (try: stream[Tag[str]('slow')])",
    ),
    "loop": (
        lambda s: list(s),
        "the stream of 'words' has no records before it runs"
        " (try: stream.write(sinks.collected()), then pipeline.run())",
    ),
    "no sink": (
        lambda s: s.write(print),
        "write takes a sink, got <built-in function print> (try: .write(sinks.printed()))",
    ),
    "no calls": (
        lambda s: s.map_async(look_up, at_once=0),
        "map_async with at_once=0 never calls (try: at_once=100)",
    ),
    "no number of further calls": (
        lambda s: s.map_async(look_up, at_once=1, retries=-1),
        "map_async: retries=-1 is not a number of further calls (try: retries=3)",
    ),
    "a time limit without a unit": (
        lambda s: s.map_async(look_up, at_once=1, timeout="10"),
        "map_async: timeout='10' is not a duration (try: '10s', seconds or a timedelta)",
    ),
    "a time limit of nothing": (
        lambda s: s.map_async(look_up, at_once=1, timeout=0),
        "map_async: timeout=0 is not a duration (try: '10s', seconds or a timedelta)",
    ),
    "top of none": (lambda s: s.top(0, by=len), "agg.top(0, …) keeps nothing (try: agg.top(1, …))"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_step_that_cannot_be_is_refused_where_it_is_written(case: str, words: Stream[str]) -> None:
    write, sentence = WRONG[case]
    with pytest.raises(UserError) as refused:
        write(words)
    assert str(refused.value) == sentence


def test_streams_of_two_pipelines_do_not_meet(words: Stream[str]) -> None:
    other = Pipeline("q").read(sources.items(["a"]))
    with pytest.raises(UserError) as refused:
        words.merge(other)
    assert str(refused.value) == (
        "merge: 'items' belongs to the pipeline 'q', not to 'p' (try: read the source in both)"
    )


def test_pipelines_and_tags_are_named_like_topologies() -> None:
    with pytest.raises(UserError, match=r"^the pipeline 'word count' is not a valid name"):
        Pipeline("word count")
    with pytest.raises(UserError, match=r"^the tag '' is not a valid name"):
        Tag("")
    with pytest.raises(UserError, match=r"^the step 'a b' is not a valid name"):
        Pipeline("p").read(sources.items([1]), name="a b")


def test_a_guarantee_that_does_not_exist_is_refused() -> None:
    untyped: Any = Pipeline
    with pytest.raises(UserError, match=r"^the guarantee 'exactly_once' of 'p' is not known \(try: 'at_most"):
        untyped("p", guarantee="exactly_once")


def test_a_source_is_what_can_be_opened() -> None:
    untyped: Any = Pipeline("p")
    with pytest.raises(UserError, match=r"^read takes a source, got \[1, 2\] \(try: p.read\(sources.items"):
        untyped.read([1, 2])
