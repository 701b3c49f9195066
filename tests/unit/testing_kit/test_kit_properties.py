"""For any small topology and order of turns: tuples arrive as often as their groupings say, and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from heronpy import Bolt, Grouping, Spout, TopologyBuilder, TopologyContext, Tuple
from heronpy.custom_grouping import ICustomGrouping
from heronpy.testing import TopologyTest


class FirstAndLast(ICustomGrouping):
    def prepare(self, context: TopologyContext, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = [target_tasks[0], target_tasks[-1]]

    def choose_tasks(self, values: Sequence[Any]) -> list[int]:
        return self.tasks


GROUPINGS = {
    "shuffle": Grouping.SHUFFLE,
    "none": Grouping.NONE,
    "all": Grouping.ALL,
    "global": Grouping.LOWEST,
    "local_or_shuffle": Grouping.LOCAL_OR_SHUFFLE,
    "fields": Grouping.fields("key"),
    "custom": Grouping.custom(FirstAndLast),
}


class Source(Spout):
    outputs = ["key", "serial"]


class Relay(Bolt):
    """Keeps what it gets, and says it again with serial numbers of its own."""

    outputs = ["key", "serial"]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        self.got: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.got.append(tup)
        self.emit([tup.key, len(self.got)])


class Shape(NamedTuple):
    """Parallelism of the spouts; then of each bolt, with the groupings of its inputs by their numbers."""

    spouts: list[int]
    bolts: list[tuple[int, dict[int, str]]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    parallelism = st.integers(1, 3)
    spouts = draw(st.lists(parallelism, min_size=1, max_size=2))
    bolts = []
    for number in range(draw(st.integers(1, 4))):
        earlier = st.integers(0, len(spouts) + number - 1)
        inputs = st.dictionaries(earlier, st.sampled_from(sorted(GROUPINGS)), min_size=1, max_size=2)
        bolts.append((draw(parallelism), draw(inputs)))
    return Shape(spouts, bolts)


def built(shape: Shape) -> TopologyBuilder:
    builder = TopologyBuilder("random")
    specs = [builder.add_spout(f"c{n}", Source, par) for n, par in enumerate(shape.spouts)]
    for par, inputs in shape.bolts:
        edges = {specs[number]: GROUPINGS[kind] for number, kind in inputs.items()}
        specs.append(builder.add_bolt(f"c{len(specs)}", Relay, par, edges))
    return builder


class Arrival(NamedTuple):
    """One tuple at one task."""

    source: int
    destination: int
    key: str
    serial: int


def arrivals(run: TopologyTest, bolt: str, source: str) -> list[Arrival]:
    return [
        Arrival(tup.task, task, tup.key, tup.serial)
        for index, task in enumerate(run.task_ids(bolt))
        for tup in run.component(bolt, index).got
        if tup.component == source
    ]


def check_edge(run: TopologyTest, source: str, bolt: str, kind: str, containers: int) -> None:
    came = arrivals(run, bolt, source)
    readers = run.task_ids(bolt)
    copies = {"all": len(readers), "custom": 2}.get(kind, 1)
    emitted = Counter(
        (task, key, serial)
        for index, task in enumerate(run.task_ids(source))
        for key, serial in run.emitted(source, index=index)
    )
    expected = Counter({said: times * copies for said, times in emitted.items()})
    assert Counter((one.source, one.key, one.serial) for one in came) == expected
    for channel in {(one.source, one.destination) for one in came}:
        serials = [one.serial for one in came if (one.source, one.destination) == channel]
        assert serials == sorted(serials), "order is kept on every channel"
    if kind == "fields":
        assert len({(one.key, one.destination) for one in came}) == len({one.key for one in came})
    if kind == "global":
        assert {one.destination for one in came} <= {readers[0]}
    if kind in ("shuffle", "none"):
        for task in run.task_ids(source):
            shares = Counter(one.destination for one in came if one.source == task)
            counts = [shares[reader] for reader in readers]
            assert max(counts) - min(counts) <= 1
    if kind == "local_or_shuffle":
        for one in came:
            near = [reader for reader in readers if (reader - one.source) % containers == 0]
            assert one.destination in (near or readers)


@example(shape=Shape([1], [(1, {0: "custom"})]), keys=["a"], seed=0, containers=1, credit=1, batch=1)
@settings(max_examples=60, deadline=None)
@given(
    shape=shapes(),
    keys=st.lists(st.sampled_from("abcd"), max_size=12),
    seed=st.none() | st.integers(0, 9),
    containers=st.integers(1, 2),
    credit=st.integers(1, 5),
    batch=st.integers(1, 4),
)
def test_every_tuple_arrives_as_often_as_its_groupings_say(
    shape: Shape, keys: list[str], seed: int | None, containers: int, credit: int, batch: int
) -> None:
    flow = {"credit.initial_tuples": credit, "batch.tuples": batch}
    run = TopologyTest(built(shape), containers=containers, seed=seed, settings=flow)
    for number in range(len(shape.spouts)):
        run.feed(f"c{number}", [[key, serial] for serial, key in enumerate(keys)])
    run.run()
    for number, (_, inputs) in enumerate(shape.bolts, len(shape.spouts)):
        for source, kind in inputs.items():
            check_edge(run, f"c{source}", f"c{number}", kind, containers)
    counts = run.counts()
    for number in range(len(shape.spouts), len(counts)):
        assert counts[f"c{number}"].emitted == counts[f"c{number}"].executed
