"""Golden plans: what pipelines become, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import pytest
from support.pipelines.endless import EndlessSource

from heronpy import UserError
from heronpy.nexmark import NexmarkSource
from heronpy.nexmark.queries import query
from heronpy.pipeline import (
    Context,
    Pipeline,
    Stream,
    agg,
    everything,
    sessions,
    sinks,
    sliding,
    sources,
    tumbling,
)
from heronpy.pipeline.triggers import at_count, at_watermark, every
from heronpy.planner.drawings import dot, mermaid, plan_json
from heronpy.planner.explain import explained
from heronpy.planner.planning import planned, stages


@dataclass(frozen=True)
class Bid:
    auction: int
    price: int


@dataclass(frozen=True)
class Person:
    id: int


@dataclass
class Seen:
    people: list[int] = field(default_factory=list)


def matched(state: Seen, event: Person | Bid, context: Context[int]) -> Iterator[tuple[int, int]]:
    yield context.key, len(state.people)


def plan_of(p: Pipeline, cores: int = 2) -> str:
    return explained(planned(p.graph()), cores=cores)


def golden(text: str) -> str:
    return dedent(text).strip("\n")


def word_count() -> Pipeline:
    p = Pipeline("wordcount")
    lines = p.read(sources.items(["to be"]), name="lines")
    lines.flat_map(str.split).key_by(str.lower).count(name="count").write(sinks.printed())
    return p


def bids(p: Pipeline) -> Stream[Bid]:
    return p.read(sources.items([Bid(1, 2)]), name="bids")


def test_a_word_count_has_one_exchange_by_key_and_counts_on_both_sides_of_it() -> None:
    assert plan_of(word_count()) == golden(
        """
        stage    kind   tasks  steps                                           exchange in                  state
        lines    spout  1      lines → flat_map:split → key_by:lower → count¹  -                            split positions
        count    bolt   2      count²                                          fields(key) from lines       keyed, ends with the input
        printed  bolt   1      printed                                         local or shuffle from count  -
        ¹ partial, in the task that makes the records  ² final, behind the exchange
        """  # noqa: E501
    )


def test_steps_without_state_run_where_their_records_are_read() -> None:
    """NEXMark Q1 and Q2: one stage and the sink."""
    p = Pipeline("q2")
    bids(p).filter(lambda b: b.auction % 123 == 0).map(lambda b: b.price, name="price").write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps                  exchange in                 state
        bids     spout  1      bids → filter → price  -                           split positions
        printed  bolt   1      printed                local or shuffle from bids  -
        """
    )


def test_merged_streams_are_keyed_by_each_producer() -> None:
    """NEXMark Q3: two sources, one keyed stage, no stage for the merge."""
    p = Pipeline("q3")
    people = p.read(sources.items([Person(1)]), name="people")
    both = people.merge(bids(p).filter(lambda b: b.price > 10))
    keyed = both.key_by(lambda e: e.id if isinstance(e, Person) else e.auction, name="seller")
    keyed.process(Seen, matched, name="suggest").write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps          exchange in                                           state
        people   spout  1      people         -                                                     split positions
        bids     spout  1      bids → filter  -                                                     split positions
        suggest  bolt   2      suggest        fields(seller) from people, fields(seller) from bids  keyed, ends with the input
        printed  bolt   1      printed        local or shuffle from suggest                         -
        """  # noqa: E501
    )


def test_a_table_has_a_plan_of_its_own() -> None:
    """NEXMark Q13, with a table that is counted from the same source."""
    p = Pipeline("q13")
    source = bids(p)
    totals = source.key_by(lambda b: b.auction, name="auction").count(name="totals")
    source.hash_join(totals, on=lambda b: b.auction, key=lambda t: t[0], name="joined").write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps          exchange in                 state
        bids     spout  1      bids → joined  -                           split positions
        printed  bolt   1      printed        local or shuffle from bids  -

        table of joined, read by each of its tasks before the first record:
          stage         kind   tasks  steps                     exchange in                   state
          bids          spout  1      bids → auction → totals¹  -                             split positions
          totals        bolt   2      totals²                   fields(key) from bids         keyed, ends with the input
          joined.table  bolt   1      joined:table              local or shuffle from totals  -
          ¹ partial, in the task that makes the records  ² final, behind the exchange
        """  # noqa: E501
    )


def test_steps_that_read_the_same_records_by_the_same_key_share_a_stage() -> None:
    p = Pipeline("p")
    keyed = bids(p).key_by(lambda b: b.auction, name="auction")
    keyed.rolling(agg.max(lambda b: b.price), name="highest").write(sinks.printed(), name="a")
    keyed.dedup(name="first").map(lambda b: b.price, name="price").write(sinks.printed(), name="b")
    keyed.dedup(name="other", par=4).write(sinks.printed(), name="c")
    assert [(stage.name, [s.name for s in stage.steps]) for stage in stages(planned(p.graph()))] == [
        ("bids", ["bids"]),
        ("highest", ["highest", "first", "price"]),
        ("a", ["a"]),
        ("b", ["b"]),
        ("other", ["other"]),
        ("c", ["c"]),
    ]


def test_other_tasks_and_a_rebalance_begin_a_stage() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"]), name="words", par=2)
    same = words.map(str.lower, par=2, name="same")
    same.map(str.lower, par=3, name="more").rebalance().map(str.upper, name="dealt").write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps         exchange in                  state
        words    spout  2      words → same  -                            split positions
        more     bolt   3      more          local or shuffle from words  -
        dealt    bolt   2      dealt         shuffle from more            -
        printed  bolt   1      printed       local or shuffle from dealt  -
        """
    )


def test_one_value_of_all_records_is_made_in_one_task() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"]), name="words")
    words.merge(p.read(sources.items(["b"]), name="others")).count(name="n").write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps        exchange in                            state
        words    spout  1      words → n¹   -                                      split positions
        others   spout  1      others → n¹  -                                      split positions
        n        bolt   1      n²           lowest from words, lowest from others  one value, ends with the input
        printed  bolt   1      printed      local or shuffle from n                -
        ¹ partial, in the task that makes the records  ² final, behind the exchange
        """  # noqa: E501
    )


def test_an_aggregate_without_combine_takes_every_record_over_the_network() -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"]), name="words")
    keyed = words.key_by(len, name="length")
    keyed.aggregate(agg.fold(str, lambda text, word: text + word)).write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage           kind   tasks  steps           exchange in                           state
        words           spout  1      words           -                                     split positions
        aggregate.fold  bolt   2      aggregate:fold  fields(length) from words             keyed, ends with the input
        printed         bolt   1      printed         local or shuffle from aggregate.fold  -
        state is found by its step's name; these names are derived: aggregate:fold
        """  # noqa: E501
    )


def test_the_outputs_of_one_step_branch_inside_its_stage() -> None:
    p = Pipeline("p")
    small, large = bids(p).partition(lambda b: b.price < 10, name="small")
    large.map(lambda b: b.price, name="price").merge(small.map(lambda b: 0, name="zero")).map(str).write(
        sinks.printed()
    )
    small.map(str, name="unseen").map(len)
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps                                                exchange in                 state
        bids     spout  1      bids → small → price; small → zero; price → map:str  -                           split positions
        printed  bolt   1      printed                                              local or shuffle from bids  -
        nothing writes what these make, so they are left out: unseen, map:len
        """  # noqa: E501
    )


@pytest.mark.parametrize("word", ["process", "rolling", "dedup"])
def test_state_of_a_stream_that_never_ends_is_not_refused_and_the_plan_says_that_it_grows(word: str) -> None:
    p = Pipeline("clicks")
    keyed = p.read(EndlessSource(), name="clicks").key_by(len)
    steps: dict[str, Callable[[], Stream[object]]] = {
        "process": lambda: keyed.process(list[str], lambda seen, click, context: [click], name="kept"),
        "rolling": lambda: keyed.rolling(agg.count(), name="kept"),
        "dedup": lambda: keyed.dedup(name="kept"),
    }
    steps[word]().write(sinks.printed())
    (row,) = (line for line in plan_of(p).splitlines() if line.startswith("kept "))
    assert row.endswith("fields(key_by:len) from clicks  keyed, grows with keys")


def test_the_plan_says_which_state_of_a_stream_that_never_ends_does_not_grow() -> None:
    p = Pipeline("clicks")
    clicks = p.read(EndlessSource(), name="clicks").event_time(len, unit="s", lag="0s")
    by_len = clicks.key_by(len, name="len")
    all_time = clicks.window(everything(), trigger=at_count(10))
    last = clicks.key_by(str, name="str").process(
        list[str], lambda s, click, c: [click], ttl="1m", name="last"
    )
    last.write(sinks.printed())
    all_time.count(name="all").write(sinks.printed())
    by_len.window(everything(), trigger=at_count(10)).count(name="per-key").write(sinks.printed())
    clicks.key_by(hash).window(tumbling("1m")).count(name="minutes").write(sinks.printed())
    clicks.key_by(repr).dedup(within="10s", name="first").write(sinks.printed())
    assert {stage.name: stage.state for stage in stages(planned(p.graph())) if stage.stateful} == {
        "last": "keyed, forgotten after 1m",
        "all": "one window, never closes",
        "per-key": "keyed, grows with keys",
        "minutes": "windows of keys",
        "first": "keyed, forgotten after 10s",
    }


def test_the_plan_says_where_event_time_comes_from_and_how_late_records_may_be() -> None:
    p = Pipeline("p")
    clicks = p.read(EndlessSource(), name="clicks", par=2).event_time(len, unit="s", lag="5s", idle="30s")
    counts = clicks.key_by(len).window(tumbling("1m"), lateness="10s").count(name="count")
    counts.write(sinks.printed())
    assert [line.rpartition("  ")[2] for line in explained(planned(p.graph()), cores=2).splitlines()[:4]] == [
        "watermark",
        "per split, lag 5s, idle 30s",
        "lowest of its inputs; lateness 10s",
        "-",
    ]


def test_windows_are_counted_on_both_sides_of_an_exchange() -> None:
    """NEXMark Q5: what the tasks of one window have found is put together where it is made, too."""
    p = Pipeline("q5")
    query("Q5", p, p.read(NexmarkSource(), name="events")).write(sinks.printed())
    assert plan_of(p) == golden(
        """
        stage    kind   tasks  steps                                                exchange in                    state            watermark
        events   spout  1      events → event_time → only:Bid → by_auction → bids¹  -                              split positions  per split, OfSource
        bids     bolt   2      bids² → hottest¹                                     fields(key) from events        windows of keys  lowest of its inputs; lateness 0s
        hottest  bolt   1      hottest² → items                                     lowest from bids               windows          lowest of its inputs; lateness 0s
        printed  bolt   1      printed                                              local or shuffle from hottest  -                -
        ¹ partial, in the task that makes the records  ² final, behind the exchange
        """  # noqa: E501
    )


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.window(sessions("1m")).count(),
        lambda s: s.window(tumbling("1m"), trigger=at_watermark(late=at_count(2))).count(),
        lambda s: s.window(sliding("1m", every="10s"), trigger=every("1s")).count(),
        lambda s: s.window(tumbling("1m")).aggregate(agg.fold(str, lambda text, word: text + word)),
        lambda s: s.window(tumbling("1m")).co_group(s),
        lambda s: s.window(tumbling("1m")).count().late,
    ],
    ids=["sessions", "counting", "copies", "no combine", "two sides", "late ones are read"],
)
def test_windows_that_must_see_each_record_have_one_stage(step: Callable[[Any], Stream[Any]]) -> None:
    p = Pipeline("p")
    words = p.read(sources.items(["a"]), name="words").event_time(len, unit="s", lag="0s")
    step(words.key_by(len)).write(sinks.printed())
    assert "¹" not in plan_of(p)


def test_a_pipeline_that_writes_nothing_is_refused() -> None:
    p = Pipeline("p")
    bids(p).map(str)
    with pytest.raises(UserError) as refused:
        planned(p.graph())
    assert str(refused.value) == "the pipeline 'p' writes nothing (try: stream.write(sinks.printed()))"


def test_a_plan_is_drawn_for_mermaid() -> None:
    assert mermaid(planned(word_count().graph())) == dedent(
        """\
        flowchart LR
          subgraph stage0["lines"]
            s0["lines"]
            s1["flat_map:split"]
            s2["count¹"]
          end
          subgraph stage1["count"]
            s3["count²"]
          end
          subgraph stage2["printed"]
            s4["printed"]
          end
          s0 --> s1
          s1 -- "key_by:lower" --> s2
          s2 -- "fields(key)" --> s3
          s3 -- "local or shuffle" --> s4
        """
    )


def test_a_plan_is_drawn_for_graphviz() -> None:
    assert dot(planned(word_count().graph())) == dedent(
        """\
        digraph "wordcount" {
          rankdir=LR; node [shape=box];
          subgraph cluster_0 { label="lines";
            "lines" [label="lines"];
            "flat_map:split" [label="flat_map:split"];
            "count¹" [label="count¹"];
          }
          subgraph cluster_1 { label="count";
            "count" [label="count²"];
          }
          subgraph cluster_2 { label="printed";
            "printed" [label="printed"];
          }
          "lines" -> "flat_map:split" [label=""];
          "flat_map:split" -> "count¹" [label="key_by:lower"];
          "count¹" -> "count" [label="fields(key)"];
          "count" -> "printed" [label="local or shuffle"];
        }
        """
    )


def test_a_plan_is_data() -> None:
    plan = plan_json(planned(word_count().graph()), cores=8, splits={"lines": 3})
    assert json.loads(json.dumps(plan)) == plan
    assert [(stage["name"], stage["kind"], stage["tasks"]) for stage in plan["stages"]] == [
        ("lines", "spout", 3),
        ("count", "bolt", 8),
        ("printed", "bolt", 1),
    ]
    assert plan["edges"][1] == {
        "from": "flat_map:split",
        "output": "",
        "to": "count¹",
        "key": "key_by:lower",
        "exchange": "none",
    }
    assert plan["stages"][0]["steps"][1]["operation"] == "flat_map"
