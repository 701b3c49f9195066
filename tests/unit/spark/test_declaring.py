"""Schemas, options, and what is missing: each mistake is one line, where it is made."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from support.running.segment_rows import rows_in

import heronpy.spark
from heronpy import Grouping, Spout, Topology, TopologyBuilder, Tuple
from heronpy.errors import DefinitionError
from heronpy.kernel.config import Config
from heronpy.kernel.errors import ConfigError, PluginError, TopologyError, UserError
from heronpy.spark import IngestSpout, SegmentSink
from heronpy.spark.options import Options
from heronpy.spark.schema import declared, encoded, names, to_spark
from heronpy.testing import TopologyTest

SCHEMA = {"word": "string", "count": "int64"}


class Words(Spout):
    outputs = ("word", "count")


class Shouting(SegmentSink):
    def row(self, tup: Tuple) -> list[Any]:
        return [tup.word.upper(), Decimal(str(tup["count"]))]


def run(topology: type[Topology], folder: Path, rows: list[list[Any]]) -> list[dict[str, Any]]:
    with TopologyTest(topology, settings={"checkpoint.path": str(folder)}) as test:
        test.feed("words", rows)
        test.run()
        test.advance("1s")
    return rows_in(folder, topology.topology_name)


def test_rows_come_from_fields_of_the_same_name(tmp_path: Path) -> None:
    class Reordered(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema={"count": "int64", "word": "string"})

    found = run(Reordered, tmp_path, [["a", 1], [None, 2]])
    assert found == [{"count": 1, "word": "a"}, {"count": 2, "word": None}]


def test_any_store_will_do(tmp_path: Path) -> None:
    class Anywhere(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema=SCHEMA)

    url = f"file://{tmp_path}"
    settings = {"checkpoint.path": url, "checkpoint.store": "fsspec"}
    for _ in range(2):
        with TopologyTest(Anywhere, settings=settings) as test:
            test.feed("words", [["a", 1]])
            test.run()
    assert rows_in(url, "Anywhere", store="fsspec") == 2 * [{"word": "a", "count": 1}]


def test_rows_are_as_the_subclass_wants_them(tmp_path: Path) -> None:
    class Shouted(Topology):
        words = Words.spec()
        out = Shouting.spec(
            inputs={words: Grouping.SHUFFLE},
            schema=pyarrow.schema([("loud", pyarrow.string()), ("price", pyarrow.decimal128(9, 2))]),
        )

    assert run(Shouted, tmp_path, [["a", 1]]) == [{"loud": "A", "price": Decimal("1.00")}]


def test_a_segment_that_is_large_lies_in_several_parts(tmp_path: Path) -> None:
    class Large(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema=SCHEMA)

    many = [["x" * 1000, number] for number in range(20_000)]
    assert [row["count"] for row in run(Large, tmp_path, many)] == list(range(20_000))
    parts = list(tmp_path.rglob("data/*/*"))
    assert len(parts) == 2


def test_a_builder_declares_them_in_the_config(tmp_path: Path) -> None:
    builder = TopologyBuilder("Built")
    rows = builder.add_spout(
        "rows", IngestSpout, par=2, config={IngestSpout.SCHEMA: SCHEMA, IngestSpout.SPLITS: 3}
    )
    builder.add_bolt("out", SegmentSink, par=1, inputs=[rows], config={SegmentSink.SCHEMA: SCHEMA})
    with TopologyTest(builder, settings={"checkpoint.path": str(tmp_path)}) as test:
        test.feed("rows", [["a", 1]])
        test.run()
    assert rows_in(tmp_path, "Built") == [{"word": "a", "count": 1}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["a", "many"], "column 'count' has the type int64 and cannot hold 'many'"),
        (["a", 2**70], f"column 'count' has the type int64 and cannot hold {2**70}"),
        ([b"\xff", 1], "column 'word' has the type string and cannot hold b'\\xff'"),
    ],
)
def test_a_value_that_does_not_fit_is_named(tmp_path: Path, value: list[Any], message: str) -> None:
    class Misfit(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema=SCHEMA)

    with pytest.raises(TopologyError) as caught:
        run(Misfit, tmp_path, [["a", 1], value])
    assert str(caught.value) == message


def test_another_schema_than_before_is_refused(tmp_path: Path) -> None:
    class Same(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema=SCHEMA)

    run(Same, tmp_path, [["a", 1]])

    class Other(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema={"word": "string"})

    Other.topology_name = "Same"
    with pytest.raises(TopologyError) as caught:
        run(Other, tmp_path, [["a", 1]])
    assert str(caught.value) == (
        "'out' has the schema (word: string), and what it has written before has (word: string, count: int64)"
        " (try: give it another name, or run heronpy kill without --keep-checkpoints)"
    )


def test_without_a_store_a_test_is_told_how_to_have_one() -> None:
    class Nowhere(Topology):
        words = Words.spec()
        out = SegmentSink.spec(inputs={words: Grouping.SHUFFLE}, schema=SCHEMA)

    with (
        pytest.raises(TopologyError, match=r"^'out' needs the checkpoint store, and there is none here"),
        TopologyTest(Nowhere) as test,
    ):
        test.run()


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "'out' needs a schema: the columns and their types"),
        ({"a": "varchar"}, "column 'a' of 'out' has the type 'varchar', which Arrow does not know"),
        (
            {"a": "uint8"},
            "column 'a' of 'out' has the type uint8, which Spark does not know (try: use int64)",
        ),
        ({"a": "timestamp[ns]"}, "column 'a' of 'out' has the type timestamp[ns], which Spark does not know"),
        ({"a": "int64", "A": "int64"}, "'out' has two columns that Spark calls 'A'"),
        (["a", "b"], "a schema is a mapping of columns to types, got ['a', 'b']"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        declared({"key": schema}, "key", "out")
    assert str(caught.value).startswith(message)


def test_arrow_and_spark_mean_the_same() -> None:
    pa = pyarrow
    given = {
        "text": "string",
        "number": "double",
        "flag": "bool",
        "data": "binary",
        "day": "date32",
        "at": "timestamp",
        "local": "timestamp[us]",
    }
    plain = declared({"key": encoded(given)}, "key", "out")
    assert names(encoded(given)) == list(given)
    assert to_spark(plain).simpleString() == (
        "struct<text:string,number:double,flag:boolean,data:binary,day:date,at:timestamp,local:timestamp_ntz>"
    )
    nested = pa.schema(
        [
            pa.field("list", pa.list_(pa.int32())),
            pa.field("map", pa.map_(pa.string(), pa.float32())),
            pa.field("inner", pa.struct([("a", pa.decimal128(10, 2)), ("b", pa.int8())]), nullable=False),
        ]
    )
    made = declared({"key": encoded(nested)}, "key", "out")
    assert names(encoded(nested)) == ["list", "map", "inner"]
    assert to_spark(made).simpleString() == (
        "struct<list:array<int>,map:map<string,float>,inner:struct<a:decimal(10,2),b:tinyint>>"
    )
    when = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)
    assert pa.array([when], type=plain.field("at").type).to_pylist() == [when]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the data source 'heron' needs the option 'topology' (try: add .option(\"topology\", …))"),
        ({"topology": "a"}, "the data source 'heron' needs the option 'component'"),
        ({"topology": "a/b", "component": "c"}, "topology 'a/b' is not a valid name"),
        (
            {"topology": "a", "component": "c", "readr": "x"},
            "the data source 'heron' has no option 'readr'; did",
        ),
        (
            {"topology": "a", "component": "c", "partitions": "0"},
            "the option 'partitions' must be a whole number",
        ),
        ({"topology": "a", "component": "c", "timeout": "soon"}, "the option 'timeout' "),
        ({"topology": "a", "component": "c", "checkpoint.pth": "x"}, "unknown setting 'checkpoint.pth'"),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Options.parse(options)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, ConfigError | TopologyError)


def test_options_hold_all_that_a_machine_needs_without_settings_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "here"))
    given = {"topology": "a", "component": "c", "MAXSEGMENTSPERTRIGGER": "7", "checkpointlocation": "/x"}
    chosen = Options.parse({**given, "plugins.fsspec.anon": "true", "timeout": "5m", "wait": "TRUE"})
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "there"))
    config = Config.from_plain(chosen.config)
    assert config.text("checkpoint.path") == str(tmp_path / "here" / "checkpoints")
    assert config.plugin("fsspec") == {"anon": "true"}
    assert (chosen.most_segments, chosen.timeout, chosen.wait, chosen.reader) == (7, 300.0, True, "default")


def test_what_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PluginError) as caught:
        declared({"key": SCHEMA}, "key", "out")
    assert str(caught.value) == (
        "heronpy.spark needs the package pyarrow, and this Python does not have it"
        " (try: pip install 'heron-py[spark]')"
    )
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "heronpy.spark.source", raising=False)
    monkeypatch.delitem(vars(heronpy.spark), "HeronDataSource", raising=False)
    with pytest.raises(
        PluginError, match=r"^the data source 'heron' needs the package pyspark, and this Python"
    ):
        from heronpy.spark import HeronDataSource  # noqa: F401


def test_a_topology_is_declared_and_run_without_spark() -> None:
    """Instances need no JVM: they never even import PySpark."""
    code = (
        "import sys\n"
        "import heronpy.spark\n"
        "assert 'pyarrow' not in sys.modules\n"
        "from heronpy.spark import IngestSpout, SegmentSink\n"
        "import pyarrow, heronpy.instances.main\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
