"""Spouts and bolts in columns and in rows, in every order: the same values, acks and failures."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest
from support.column_values import VALUES

from heronpy import BasicBolt, Bolt, Grouping, ICustomGrouping, Schema, Spout, Stream, TopologyBuilder
from heronpy.kernel.flow.column_split import rows_of
from heronpy.testing import TopologyTest

NUMBERS = Schema(number=pa.int64())
GUARANTEES = ("ATMOST_ONCE", "ATLEAST_ONCE")


def numbers(values: Any) -> Any:
    return pa.record_batch([pa.array(list(values), pa.int64())], schema=NUMBERS.arrow)


class ColumnSource(Spout):
    """Batches of ten numbers, each with the number of the batch as its id."""

    outputs: ClassVar[Any] = NUMBERS

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.sent = 0
        self.acked: list[int] = []
        self.failed: list[int] = []

    def next_tuple(self) -> None:
        if self.sent < 5:
            self.emit_batch(numbers(range(10 * self.sent, 10 * self.sent + 10)), tup_id=self.sent)
            self.sent += 1

    def ack(self, tup_id: int) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: int) -> None:
        self.failed.append(tup_id)


class RowSource(ColumnSource):
    def next_tuple(self) -> None:
        if self.sent < 5:
            self.emit_many(([number] for number in range(10 * self.sent, 10 * self.sent + 10)), self.sent)
            self.sent += 1


class DoubledColumns(BasicBolt):
    outputs: ClassVar[Any] = NUMBERS

    def process_columns(self, batch: Any) -> None:
        self.emit_batch(numbers(2 * number for number in batch["number"].to_pylist()))


class DoubledByHand(Bolt):
    """The same with anchors and acks of its own."""

    outputs: ClassVar[Any] = NUMBERS

    def process_columns(self, batch: Any, origin: Any) -> None:
        assert (origin.component, origin.stream) == ("source", "default")
        doubled = [2 * number for number in batch["number"].to_pylist()]
        self.emit_batch(numbers(doubled), anchors=[origin])
        self.ack(origin)


class DoubledRows(BasicBolt):
    outputs: ClassVar[Any] = NUMBERS

    def process(self, tup: Any) -> None:
        self.emit([2 * tup.number])


class DoubledTogether(BasicBolt):
    outputs: ClassVar[Any] = NUMBERS

    def process_rows(self, rows: Any) -> None:
        self.emit_many([2 * number] for (number,) in rows)


class KeepingRows(Bolt):
    """Fails 44, if told so."""

    fails = False

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[int] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup.number)
        if self.fails and tup.number == 44:
            self.fail(tup)
        else:
            self.ack(tup)


class KeepingTogether(KeepingRows):
    def process_rows(self, rows: Any, origin: Any) -> None:
        assert (origin.component, origin.stream) == ("doubled", "default")
        self.seen += [number for (number,) in rows]
        if self.fails and [44] in rows:
            self.fail(origin)
        else:
            self.ack(origin)


class KeepingColumns(KeepingRows):
    def process_columns(self, batch: Any, origin: Any) -> None:
        self.seen += batch["number"].to_pylist()
        if self.fails and 44 in batch["number"].to_pylist():
            self.fail(origin)
        else:
            self.ack(origin)


def topology(spout: Any, doubled: Any, keep: Any, guarantee: str) -> TopologyBuilder:
    builder = TopologyBuilder("columns")
    source = builder.add_spout("source", spout, 1)
    middle = builder.add_bolt("doubled", doubled, 2, inputs={source: Grouping.SHUFFLE})
    builder.add_bolt("keep", keep, 3, inputs={middle: Grouping.fields("number")})
    builder.set_config({"topology.reliability.mode": guarantee, "topology.message.timeout.secs": 10})
    return builder


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("keep", [KeepingRows, KeepingTogether, KeepingColumns])
@pytest.mark.parametrize("doubled", [DoubledRows, DoubledTogether, DoubledColumns, DoubledByHand])
@pytest.mark.parametrize("spout", [ColumnSource, RowSource])
def test_columns_and_rows_understand_each_other(
    spout: Any, doubled: Any, keep: Any, guarantee: str, seed: int | None
) -> None:
    with TopologyTest(topology(spout, doubled, keep, guarantee), seed=seed) as run:
        run.run_spouts()
        seen = [number for index in range(3) for number in run.component("keep", index).seen]
        assert sorted(seen) == [2 * number for number in range(50)]
        assert sorted(run.emitted("source")) == [[number] for number in range(50)]
        assert sorted(run.emitted("doubled")) == [[2 * number] for number in range(50)]
        assert sorted(run.component("source").acked) == [0, 1, 2, 3, 4]
        assert run.component("source").failed == []


@pytest.mark.parametrize("keep", [KeepingRows, KeepingTogether, KeepingColumns])
@pytest.mark.parametrize("doubled", [DoubledRows, DoubledTogether, DoubledColumns])
def test_what_fails_fails_the_batch_that_it_is_of_and_no_other(doubled: Any, keep: Any) -> None:
    with TopologyTest(topology(ColumnSource, doubled, keep, "ATLEAST_ONCE")) as run:
        for index in range(3):
            run.component("keep", index).fails = True
        run.run_spouts(calls=5)
        assert run.component("source").failed == [2]
        assert run.component("source").acked == [0, 1, 3, 4]


class Silent(KeepingColumns):
    def ack(self, tup: Any) -> None:
        """Forgets it."""


def test_at_least_once_a_batch_that_no_one_acks_fails_in_time() -> None:
    with TopologyTest(topology(ColumnSource, DoubledColumns, Silent, "ATLEAST_ONCE")) as run:
        run.run_spouts(calls=1)
        run.advance("11s")
        assert run.component("source").failed == [0]


class Values(Spout):
    """One column of each type, in columns and in rows."""

    outputs: ClassVar[Any] = [
        Stream(Schema(pa.schema([(name, kind)])), name=f"{form}_{name}")
        for name, (kind, _) in VALUES.items()
        for form in ("rows", "columns")
    ]
    done = False

    def next_tuple(self) -> None:
        if self.done:
            return
        self.done = True
        for name, (kind, values) in VALUES.items():
            batch = pa.record_batch([pa.array(values, kind)], names=[name])
            self.emit_batch(batch, stream=f"columns_{name}")
            self.emit_batch(batch.slice(1, 1), stream=f"columns_{name}")
            self.emit_batch(batch.slice(0, 0), stream=f"columns_{name}")
            self.emit_many([[value] for value in values], stream=f"rows_{name}")
            self.emit([values[1]], stream=f"rows_{name}")


class SeenRows(Bolt):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: dict[str, list[Any]] = {}

    def process(self, tup: Any) -> None:
        self.seen.setdefault(tup.stream, []).extend(tup.values)


class SeenColumns(SeenRows):
    def process_columns(self, batch: Any, origin: Any) -> None:
        assert batch.schema.types == [VALUES[batch.schema.names[0]][0]]
        self.seen.setdefault(origin.stream, []).extend(row[0] for row in rows_of(batch))


def test_every_value_comes_through_in_both_forms_as_it_was() -> None:
    builder = TopologyBuilder("values")
    source = builder.add_spout("source", Values, 1)
    names = [f"{form}_{name}" for name in VALUES for form in ("rows", "columns")]
    by_stream = {source[name]: Grouping.SHUFFLE for name in names}
    builder.add_bolt("rows", SeenRows, 1, inputs=by_stream)
    builder.add_bolt("columns", SeenColumns, 1, inputs=by_stream)
    with TopologyTest(builder) as run:
        run.run_spouts(calls=1)
        for reader in ("rows", "columns"):
            seen = run.component(reader).seen
            for name, (_, values) in VALUES.items():
                expected = [*map(repr, values), repr(values[1])]
                assert [repr(value) for value in seen[f"columns_{name}"]] == expected, (reader, name)
                assert [repr(value) for value in seen[f"rows_{name}"]] == expected, (reader, name)


class Keyed(Spout):
    outputs: ClassVar[Any] = [
        Schema(key=pa.dictionary(pa.int8(), pa.string()), at=pa.timestamp("ns"), id=pa.int64()),
        Stream(Schema(id=pa.int64()), name="exact", direct=True),
    ]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.sent = 0
        self.readers = context.get_component_tasks("direct")

    def next_tuple(self) -> None:
        if self.sent < 4:
            rows = range(100 * self.sent, 100 * self.sent + 100)
            words = pa.array([f"k{row % 7}" for row in rows]).dictionary_encode()
            columns = [
                words.cast(pa.dictionary(pa.int8(), pa.string())),
                pa.array([1000 * (row % 3) for row in rows], pa.timestamp("ns")),
                pa.array(rows, pa.int64()),
            ]
            self.emit_batch(pa.record_batch(columns, names=["key", "at", "id"]))
            exact = pa.record_batch([pa.array(rows, pa.int64())], names=["id"])
            self.emit_batch(exact, stream="exact", direct_task=self.readers[self.sent % 2])
            self.sent += 1


class ByNumber(ICustomGrouping):
    def prepare(self, context: Any, component: Any, stream: Any, target_tasks: Any) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: Any) -> list[int]:
        return [self.tasks[values[2] % len(self.tasks)]]


class Ids(Bolt):
    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.seen: list[int] = []
        self.keys: set[Any] = set()

    def process_columns(self, batch: Any, origin: Any) -> None:
        self.seen += batch["id"].to_pylist()
        if origin.stream == "default":
            pairs = zip(batch["key"].to_pylist(), batch["at"].cast(pa.int64()).to_pylist(), strict=True)
            self.keys.update(pairs)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_grouping_of_columns(seed: int | None) -> None:
    builder = TopologyBuilder("groupings")
    source = builder.add_spout("source", Keyed, 1)
    for name, grouping in {
        "shuffle": Grouping.SHUFFLE,
        "none": Grouping.NONE,
        "local": Grouping.LOCAL_OR_SHUFFLE,
        "lowest": Grouping.GLOBAL,
        "all": Grouping.ALL,
        "custom": Grouping.custom(ByNumber()),
        "key": Grouping.fields("key", "at"),
    }.items():
        builder.add_bolt(name, Ids, 2, inputs={source: grouping})
    builder.add_bolt("direct", Ids, 2, inputs={source["exact"]: Grouping.DIRECT})
    with TopologyTest(builder, seed=seed) as run:
        run.run_spouts()
        seen = {
            name: [run.component(name, index).seen for index in range(2)]
            for name in ("shuffle", "none", "local", "lowest", "all", "custom", "key", "direct")
        }
        keys = [run.component("key", index).keys for index in range(2)]
    everything = list(range(400))
    assert seen["all"] == [everything, everything]
    assert seen["lowest"] == [everything, []]
    assert seen["custom"] == [everything[0::2], everything[1::2]]
    assert seen["direct"] == [everything[:100] + everything[200:300], everything[100:200] + everything[300:]]
    for name in ("shuffle", "none", "local", "key"):
        assert all(part == sorted(part) for part in seen[name])
        assert sorted(seen[name][0] + seen[name][1]) == everything
    assert [len(part) for part in seen["shuffle"]] == [200, 200]
    assert not keys[0] & keys[1]
    assert len(keys[0] | keys[1]) == 21


FEW = pa.dictionary(pa.int8(), pa.string())


class ManyWords(Spout):
    """More words than a dictionary of its type has, all of them in hand at once."""

    outputs: ClassVar[Any] = Schema(word=FEW, number=pa.int64())

    def next_tuple(self) -> None:
        self.emit_many([self.word(number), number] for number in range(1000))
        self.finish()

    def word(self, number: int) -> Any:
        return f"w{number}"


class NestedWords(ManyWords):
    outputs: ClassVar[Any] = Schema(word=pa.struct([("each", FEW)]), number=pa.int64())

    def word(self, number: int) -> Any:
        return {"each": f"w{number}"}


class ListedWords(ManyWords):
    outputs: ClassVar[Any] = Schema(word=pa.list_(FEW), number=pa.int64())

    def word(self, number: int) -> Any:
        return [f"w{number}", f"v{number}"]


@pytest.mark.parametrize("spout", [ManyWords, NestedWords, ListedWords])
def test_rows_of_more_words_than_a_dictionary_has_come_in_several_batches(spout: type[Spout]) -> None:
    builder = TopologyBuilder("words")
    source = builder.add_spout("source", spout, 1)
    builder.add_bolt("keep", KeepingColumns, 1, inputs={source: Grouping.SHUFFLE})
    with TopologyTest(builder) as run:
        run.run_spouts()
        assert run.component("keep").seen == list(range(1000))
