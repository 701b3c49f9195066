"""Streams of columns: how they are declared, and what is refused when the topology is made."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest

from heronpy import Bolt, Grouping, Schema, Spout, Stream, Topology
from heronpy.column_schema import arrow_schema
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import LogicalPlan, Source
from heronpy.kernel.plans.validate import validate
from heronpy.logical_plan import to_logical_plan

WORDS = Schema(word=pa.string(), count=pa.int64())


class Words(Spout):
    outputs = WORDS


class Rows(Spout):
    outputs = ["word"]


class Listed(Spout):
    outputs = [Schema(word=pa.string()), Stream(Schema(at=pa.timestamp("us", "UTC")), name="times")]


class Count(Bolt):
    def process_columns(self, batch: Any) -> None: ...


def plan_of(spout: type[Spout], stream: str = "default", grouping: Any = Grouping.SHUFFLE) -> LogicalPlan:
    class Columns(Topology):
        words = spout.spec()
        count = Count.spec(inputs={words[stream]: grouping})

    plan = to_logical_plan(Columns, Source())
    validate(plan)
    return plan


def test_a_schema_goes_through_the_plan_and_back() -> None:
    plan = LogicalPlan.from_json(plan_of(Words).to_json())
    (stream,) = plan.component("words").outputs
    assert stream.fields == ("word", "count")
    assert arrow_schema(stream.schema) == pa.schema([("word", pa.string()), ("count", pa.int64())])
    assert plan.component("count").reads_columns


def test_streams_with_names_have_schemas_of_their_own() -> None:
    words, times = plan_of(Listed, stream="times").component("words").outputs
    assert (words.name, words.fields, times.name, times.fields) == ("default", ("word",), "times", ("at",))
    assert arrow_schema(times.schema).field("at").type == pa.timestamp("us", "UTC")


def test_metadata_of_an_arrow_schema_is_dropped() -> None:
    given = pa.schema([pa.field("a b", pa.int8(), nullable=False, metadata={"x": "y"})], metadata={"z": "1"})
    schema = Schema(given)
    assert schema.arrow.equals(pa.schema([pa.field("a b", pa.int8(), nullable=False)]), check_metadata=True)
    assert schema == Schema(schema.arrow)
    assert hash(schema) == hash(Schema(schema.arrow))
    assert schema != WORDS


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schema(), "at least one field"),
        (lambda: Schema(word="string"), "'word' of a Schema must have an Arrow type, got 'string'"),
        (lambda: Schema(["word"]), "by name, or one pyarrow.Schema"),
    ],
)
def test_what_is_no_schema(make: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()


def test_a_schema_has_all_fields_of_its_stream() -> None:
    class Both(Spout):
        outputs = [Schema(word=pa.string()), "count"]

    with pytest.raises(DefinitionError, match="must have all its fields"):
        plan_of(Both)


def test_a_bolt_in_columns_needs_a_schema() -> None:
    with pytest.raises(TopologyError, match="'count' has process_columns, but stream 'default' of 'words'"):
        plan_of(Rows)


def test_a_column_that_is_no_key_is_refused_at_submit() -> None:
    class Lists(Spout):
        outputs = Schema(words=pa.list_(pa.string()))

    with pytest.raises(DefinitionError, match=r"'count' groups 'words' by 'words': a column of type list"):
        plan_of(Lists, grouping=Grouping.fields("words"))


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DefinitionError, match=r"need pyarrow.*pip install 'heron-py\[columns\]'"):
        Schema(word=1)
