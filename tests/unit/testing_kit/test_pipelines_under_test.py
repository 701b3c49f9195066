"""A pipeline's test: what is fed, what is seen, and what crashes and rescaling leave as it was."""

from __future__ import annotations

import pytest

from heronpy import Pipeline
from heronpy.kernel.errors import UserError
from heronpy.pipeline import agg, sinks, sources, tumbling
from heronpy.testing import PipelineTest, at, on_time


@pytest.fixture
def visits() -> Pipeline:
    p = Pipeline("visits")
    named = p.read(sources.items([]), name="visits").map(str.lower, name="lower")
    named.key_by(lambda name: name).rolling(agg.count(), name="count").write(sinks.printed(), name="shown")
    return p


def test_what_is_fed_goes_all_the_way(visits: Pipeline) -> None:
    with PipelineTest(visits, par=2) as run:
        run.feed("visits", "Ann", "Bob", "ann")
        assert run.results("count") == run.written("shown") == [("ann", 1), ("bob", 1), ("ann", 2)]
        assert run.committed("shown") == []


def test_a_checkpoint_commits_and_a_crash_goes_back_to_it(visits: Pipeline) -> None:
    with PipelineTest(visits) as run:
        run.feed("visits", "ann")
        run.checkpoint()
        run.feed("visits", "ann", "bob")
        assert run.committed("shown") == [("ann", 1)]
        run.crash("count")
        assert run.written("shown") == [("ann", 1), ("ann", 2), ("bob", 1)], (
            "what was read again is counted once"
        )


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_rescaling_moves_every_key(visits: Pipeline, seed: int | None) -> None:
    names = [f"n{number}" for number in range(20)]
    with PipelineTest(visits, par=2, splits=3, seed=seed) as run:
        for tasks in (4, 1, 3):
            run.feed("visits", *names)
            run.rescale("count", tasks)
        run.feed("visits", *names)
        run.checkpoint()
        assert sorted(run.committed("count")) == sorted((n, c) for n in names for c in (1, 2, 3, 4))


def test_a_script_is_data(visits: Pipeline) -> None:
    with PipelineTest(visits) as run:
        run.script(
            [("feed", "visits", "ann"), ("checkpoint",), ("crash", "visits"), ("feed", "visits", "ann")]
        )
        assert run.results("count") == [("ann", 1), ("ann", 2)]
        with pytest.raises(UserError, match="knows no 'sleep'"):
            run.script([("sleep", 1)])


def counted_clicks() -> Pipeline:
    p = Pipeline("clicks")
    clicks = p.read(sources.items(list[str]()), name="clicks")
    timed = clicks.event_time(lambda _: 0, unit="s", lag="0s", idle="30s")
    counts = timed.key_by(str.lower).window(tumbling("1m")).count(name="count")
    counts.write(sinks.printed(), name="shown")
    return p


def test_a_script_says_of_one_split_what_methods_say_of_it() -> None:
    with PipelineTest(counted_clicks(), splits={"clicks": ["eu", "us", "asia"]}, now="18:00") as run:
        run.script(
            [
                ("feed", ("clicks", "eu"), at("12:00:10", "ann"), at("12:00:20", "ann")),
                ("feed", ["clicks", "us"], at("12:00:10", "bob")),
                ("watermark", ("clicks", "eu"), "12:01"),
            ]
        )
        assert run.panes("count") == []
        run.script([("finish", ("clicks", "asia")), ("idle", ("clicks", "us"))])
        assert sorted(run.panes("count")) == [
            on_time("ann", 2, "12:00", "12:01"),
            on_time("bob", 1, "12:00", "12:01"),
        ]
        sentence = r"^a script cannot idle 'clicks', 'eu': too many .* \(try: \('idle', 'visits', …\), or "
        with pytest.raises(UserError, match=sentence):
            run.script([("idle", "clicks", "eu")])
        with pytest.raises(UserError, match=r"\(try: as run.rescale\(…\) takes it\)$"):
            run.script([("rescale", "count")])


def test_late_records_that_were_dropped_stay_counted_where_no_crash_has_undone_them() -> None:
    with PipelineTest(counted_clicks(), par=2) as run:
        run.script([("watermark", "clicks", "12:01"), ("feed", "clicks", at("12:00:10", "ann"))])
        run.rescale("count", 1)
        run.rescale("count", 3)
        assert run.late_dropped("count") == 1
        run.checkpoint()
        run.feed("clicks", at("12:00:11", "bob"))
        assert run.late_dropped("count") == 2
        run.crash("count")  # bob comes again, and is late again
        assert run.late_dropped("count") == 2
        run.crash("clicks")
        run.checkpoint()
        run.crash("count")
        assert run.late_dropped("count") == 2


def test_a_table_is_read_as_it_is() -> None:
    p = Pipeline("prices")
    table = p.read(sources.items([("tea", 2)]), name="table")
    orders = p.read(sources.items(list[str]()), name="orders")
    joined = orders.hash_join(table, on=lambda order: order, key=lambda row: row[0])
    joined.map(lambda pair: pair[1][1]).write(sinks.printed(), name="paid")
    with PipelineTest(p) as run:
        run.feed("orders", "tea", "tea")
        assert run.written("paid") == [2, 2]


def test_wrong_names_are_named(visits: Pipeline) -> None:
    with PipelineTest(visits) as run:
        with pytest.raises(UserError, match="reads no 'visit'"):
            run.feed("visit", "ann")
        with pytest.raises(UserError, match="has no split 'x'"):
            run.feed("visits", "ann", split="x")
        with pytest.raises(UserError, match="'lower' is neither a step with state nor a sink"):
            run.results("lower")
        with pytest.raises(UserError, match="has no step 'cout'"):
            run.crash("cout")
        with pytest.raises(UserError, match="no event_time follows 'visits'"):
            run.watermark("visits", "12:00")


def test_an_error_of_the_users_code_is_the_tests(visits: Pipeline) -> None:
    with PipelineTest(visits) as run, pytest.raises(Exception, match="lower"):
        run.feed("visits", 5)
