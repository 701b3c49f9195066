"""Rows on a stream with a Schema: what columns hold of them, and what does not fit."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tasks.emitter import Emitter
from support.tasks.plans import edge
from support.unlike_values import KEYS, NOON, OTHERS, UNFIT, UTC_NOON

from heronpy import Bolt, Grouping, Schema, Spout, Stream, Topology, TopologyBuilder
from heronpy.instances.output.columns.row_fitting import RowFitting, UnfitError, array_of
from heronpy.instances.output.fast_lane import fast_lane
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.column_keys import key_groups
from heronpy.kernel.flow.keys import key_group
from heronpy.testing import TopologyTest

ONE_AT_A_TIME = pytest.mark.parametrize("together", [False, True])


def fit(kind: Any, values: list[Any], *, together: bool) -> list[Any]:
    fitting = RowFitting(pa.schema([("value", kind)]))
    rows: list[tuple[Any, ...]] = [(value,) for value in values]
    fitted = fitting.rows(rows) if together else [fitting.row(row) for row in rows]
    return [value for (value,) in fitted]


@ONE_AT_A_TIME
@pytest.mark.parametrize(("kind", "value", "held"), [*KEYS, *OTHERS], ids=str)
def test_a_value_is_what_its_column_gives_back(kind: Any, value: Any, held: Any, together: bool) -> None:
    fitted = fit(kind, [None, value], together=together)
    assert [repr(each) for each in fitted] == ["None", repr(held)]
    again = fit(kind, fitted, together=together)
    assert [repr(each) for each in again] == ["None", repr(held)], "as when it is restored from a checkpoint"


@ONE_AT_A_TIME
@pytest.mark.parametrize(("kind", "value", "held"), KEYS, ids=str)
def test_it_has_the_key_group_of_its_column(kind: Any, value: Any, held: Any, together: bool) -> None:
    (fitted,) = fit(kind, [value], together=together)
    for emitted in (value, held):
        column = array_of([emitted], kind)
        assert column.type == kind
        assert key_groups([column], 2**32).tolist() == [key_group(fitted, 2**32)]


@ONE_AT_A_TIME
@pytest.mark.parametrize(("kind", "value"), UNFIT, ids=str)
def test_what_a_column_would_change_does_not_fit(kind: Any, value: Any, together: bool) -> None:
    with pytest.raises(UnfitError) as refused:
        fit(kind, [None, value, None], together=together)
    assert refused.value.row == (1 if together else 0)
    assert refused.value.value is value


ANYTHING = st.sampled_from([value for _, value, _ in KEYS] + [value for _, value in UNFIT]) | st.one_of(
    st.integers(),
    st.integers(-300, 300),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.decimals(places=2, min_value=-99, max_value=99),
    st.dates(),
    st.times(timezones=st.none() | st.timezones()),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(),
    st.uuids(),
)


@settings(max_examples=300)
@given(st.sampled_from([kind for kind, *_ in KEYS]), st.lists(ANYTHING, min_size=1, max_size=5))
def test_any_value_is_refused_or_one_key_in_rows_and_in_columns(kind: Any, values: list[Any]) -> None:
    for value in values:
        try:
            (fitted,) = fit(kind, [value], together=False)
        except UnfitError:
            with pytest.raises(UnfitError):
                fit(kind, [value, value], together=True)
            continue
        assert key_groups([array_of([value], kind)], 2**32).tolist() == [key_group(fitted, 2**32)]
        again = fit(kind, [value, fitted], together=True)
        assert [repr(each) for each in again] == [repr(fitted)] * 2


class Pair(NamedTuple):
    a: int
    b: str


@ONE_AT_A_TIME
@pytest.mark.parametrize(
    "value", [{"a": 1, "b": "x"}, Pair(1, "x"), (1, "x"), [("a", 1), ("b", "x")]], ids=repr
)
def test_a_struct_may_be_given_by_name_by_place_or_as_pairs(value: Any, together: bool) -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.string())])
    assert fit(kind, [value], together=together) == [{"a": 1, "b": "x"}]
    assert fit(pa.list_(kind), [[value]], together=together) == [[{"a": 1, "b": "x"}]]


@ONE_AT_A_TIME
def test_a_field_that_is_not_nullable_takes_no_none(together: bool) -> None:
    fitting = RowFitting(pa.schema([pa.field("n", pa.int64(), nullable=False)]))
    rows: list[tuple[Any, ...]] = [(1,), (None,)]
    with pytest.raises(UnfitError):
        fitting.rows(rows) if together else [fitting.row(row) for row in rows]


def test_rows_that_remain_as_they_are_are_not_copied() -> None:
    fitting = RowFitting(pa.schema([("word", pa.string()), ("n", pa.int64())]))
    rows: list[tuple[Any, ...]] = [("a", 1), ("ß", None)]
    assert fitting.rows(rows) is rows
    assert fitting.rows([]) == []


TIMED = Schema(word=pa.string(), n=pa.timestamp("us"))


@pytest.mark.parametrize("fast", [False, True])
def test_the_emitter_is_told_in_one_line_before_anything_leaves(fast: bool) -> None:
    emitter = Emitter(edge("fields", "word"), par=3, schema=TIMED)
    if fast:
        assert not fast_lane(emitter.collector)(("a", NOON), "default")
    named = (
        "'words' emitted a row on stream 'default' that does not fit its Schema: 'n' is timestamp[us],"
        f" not the datetime {UTC_NOON!r}"
    )
    with pytest.raises(TopologyError) as refused:
        emitter.emit("a", UTC_NOON)
    assert str(refused.value) == named
    with pytest.raises(TopologyError) as refused:
        emitter.collector.emit_many([("a", NOON), ("b", UTC_NOON)], "default")
    assert str(refused.value) == f"{named}; it was row 1 of a batch of 2"
    emitter.outbox.flush()
    assert emitter.link.values == []
    assert emitter.counters.emitted["default"] == 0


def test_without_a_schema_there_is_nothing_to_fit() -> None:
    emitter = Emitter(edge("fields", "word"), par=3)
    assert emitter.collector.fits() == {}
    emitter.emit("a", UTC_NOON)


NAMES = [f"key{place}" for place in range(len(KEYS))]


class Mixed(Spout):
    """Each key as a row, in rows and in columns, on a stream of its own."""

    outputs: ClassVar[Any] = [
        Stream(Schema(key=kind), name=name) for name, (kind, *_) in zip(NAMES, KEYS, strict=True)
    ]
    done = False

    def next_tuple(self) -> None:
        if not self.done:
            for name, (kind, value, held) in zip(NAMES, KEYS, strict=True):
                self.emit([value], stream=name)
                self.emit_many([[held], [value]], stream=name)
                self.emit_batch(pa.record_batch([array_of([value], kind)], names=["key"]), stream=name)
        self.done = True


def plain(column: Any) -> Any:
    """As a table keeps it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(column)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return column.cast(views.get(kind, kind))


class InColumns(Bolt):
    """Counts each key of each stream in a table, which takes only those of this task."""

    def initialize(self, config: Any, context: Any) -> None:
        self.counts = {
            name: self.state.table(name, keys=Schema(key=plain(array_of([], kind)).type), n="int64")
            for name, (kind, *_) in zip(NAMES, KEYS, strict=True)
        }

    def process_columns(self, batch: Any, origin: Any) -> None:
        self.counts[origin.stream].add(plain(batch["key"]), {"n": 1})


class InRows(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.seen: dict[str, list[str]] = {}

    def process(self, tup: Any) -> None:
        self.seen.setdefault(tup.stream, []).append(repr(tup.key))
        self.state[tup.key] = True


def test_a_key_meets_itself_whichever_way_it_is_emitted_and_read() -> None:
    builder = TopologyBuilder("mixed")
    source = builder.add_spout("source", Mixed, 1)
    by_key = {source[name]: Grouping.fields("key") for name in NAMES}
    builder.add_bolt("columns", InColumns, 3, inputs=by_key)
    builder.add_bolt("rows", InRows, 3, inputs=by_key)
    with TopologyTest(builder) as run:
        run.run_spouts()
        columns = [run.component("columns", index).counts for index in range(3)]
        rows = [run.component("rows", index).seen for index in range(3)]
    for name, (kind, _, held) in zip(NAMES, KEYS, strict=True):
        counts = [count for table in columns for count in table[name].batch()["n"].to_pylist()]
        assert counts == [4], (name, kind)
        (values,) = [seen[name] for seen in rows if name in seen]
        assert set(values[:3]) == {repr(held)}, (name, kind)
        assert len(values) == 4


class Odd(Spout):
    outputs: ClassVar[Any] = Schema(key=pa.float32())
    refused = ""

    def next_tuple(self) -> None:
        self.emit([0.1])
        with pytest.raises(TopologyError) as refused:
            self.emit(["seven"])
        self.refused = str(refused.value)
        self.finish()


class Reads(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.counts = self.state.table("counts", n="int64")

    def process_columns(self, batch: Any) -> None:
        self.counts.add(batch["key"], {"n": 1})


class OddOne(Topology):
    odd = Odd.spec()
    reads = Reads.spec(par=3, inputs={odd: Grouping.fields("key")})


def test_a_row_that_does_not_fit_fails_where_it_is_emitted_and_not_where_it_is_read() -> None:
    with TopologyTest(OddOne) as run:
        run.run_spouts()
        assert run.component("odd").refused == (
            "'odd' emitted a row on stream 'default' that does not fit its Schema:"
            " 'key' is float, not the str 'seven'"
        )
        assert sum(len(run.component("reads", index).counts) for index in range(3)) == 1
