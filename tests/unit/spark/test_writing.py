"""What tasks and the driver of Spark write, without Spark: pieces, batches, and what is waited for."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.sql.types import StructType
from support.tasks.ingesting import PREFIX, SCHEMA, Life

from heronpy import CheckpointStore
from heronpy.kernel.errors import TimedOut, UserError
from heronpy.spark.arrow_stream import from_stream
from heronpy.spark.batches import Batch, of_query, publish, take_over, waiting
from heronpy.spark.batches import read_manifest as manifest_of
from heronpy.spark.options import Options
from heronpy.spark.schema import to_spark
from heronpy.spark.shelf import Shelf
from heronpy.spark.source import HeronDataSource
from heronpy.spark.writing import BatchWriter, StreamWriter, Written, _gathered

STRUCT: StructType = to_spark(SCHEMA)


@pytest.fixture(autouse=True)
def topology(store: Callable[[], CheckpointStore]) -> None:
    """It has been submitted."""
    Life(store, 2, {})


def options(tmp_path: Path, **more: str) -> Options:
    return Options.parse({"topology": "fed", "component": "rows", "path": str(tmp_path / "store"), **more})


def rows(*numbers: int) -> pyarrow.RecordBatch:
    """As Spark gives them: columns in the order of the DataFrame."""
    return pyarrow.RecordBatch.from_pydict({"word": ["w"] * len(numbers), "number": list(numbers)})


def write(writer: StreamWriter, batch: Batch, *numbers: int) -> list[Written]:
    """Two tasks, one of which has nothing."""
    return [writer._write(batch, [rows(*numbers)]), writer._write(batch, [])]


def test_a_batch_is_there_when_the_driver_commits(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    messages = write(writer, of_query("q", 0), 1, 2, 3)
    assert waiting(ingest) == []
    writer.commit([*messages, None], 0)
    assert waiting(ingest) == [of_query("q", 0)]
    manifest = manifest_of(ingest, of_query("q", 0))
    assert manifest is not None
    (piece,) = manifest
    assert piece.rows == 3
    with from_stream(ingest.read(piece.name), piece.name) as stream:
        assert stream.read_all().to_pylist() == [{"number": n, "word": "w"} for n in (1, 2, 3)]


def test_a_batch_without_rows_is_none(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    writer.commit([writer._write(of_query("q", 0), []), writer._write(of_query("q", 0), [rows()])], 0)
    assert ingest.names("batches/") == []
    assert ingest.names("data/") == []


def test_a_repeated_batch_leaves_nothing(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    writer.commit([*write(writer, of_query("q", 0), 1)], 0)
    before = ingest.names("")
    writer.commit([*write(writer, of_query("q", 0), 1)], 0)
    assert ingest.names("") == before
    manifest = manifest_of(ingest, of_query("q", 0))
    assert manifest is not None
    take_over(ingest, of_query("q", 0), manifest)
    writer.commit([*write(writer, of_query("q", 0), 1)], 0)
    assert ingest.names("batches/") == []
    assert ingest.names("data/") == []


def test_what_is_aborted_goes_unless_it_is_published(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    messages = write(writer, of_query("q", 0), 1)
    writer.abort([*messages, None], 0)
    assert ingest.names("data/") == []
    messages = write(writer, of_query("q", 0), 1)
    writer.commit([*messages], 0)
    writer.abort([*messages], 0)
    assert len(ingest.names("data/")) == 1


def test_too_many_that_wait_make_the_next_wait_and_then_fail(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path, outstanding="2", timeout="300ms"), STRUCT)
    for number in range(2):
        writer.commit([*write(writer, of_query("q", number), number)], number)
    StreamWriter(options(tmp_path), STRUCT).commit([*write(writer, of_query("other", 0), 1)], 0)
    messages = write(writer, of_query("q", 2), 2)
    with pytest.raises(TimedOut) as caught:
        writer.commit([*messages], 2)
    assert str(caught.value) == (
        "IngestSpout 'rows' of topology 'fed' has not taken over batch 0, and 2 wait already, in 300ms"
        " (try: heronpy status fed)"
    )
    patient = StreamWriter(options(tmp_path, outstanding="2"), STRUCT)
    manifest = manifest_of(ingest, of_query("q", 0))
    assert manifest is not None
    thread = threading.Thread(
        target=take_over, args=(Shelf(ingest.store, PREFIX), of_query("q", 0), manifest)
    )
    thread.start()
    patient.commit([*messages], 2)
    thread.join()
    assert [batch.number for batch in waiting(ingest, "query-q")] == [1, 2]


def test_a_write_that_waits_says_what_it_waits_for(tmp_path: Path, ingest: Shelf) -> None:
    writer = BatchWriter(options(tmp_path, wait="true", timeout="200ms", id="monday"), STRUCT)
    message = writer.write(iter([rows(1)]))
    with pytest.raises(TimedOut) as caught:
        writer.commit([message])
    assert str(caught.value) == (
        "IngestSpout 'rows' of topology 'fed' has the batch, and no complete checkpoint with it in 200ms"
        " (try: heronpy status fed; do not write it again)"
    )
    writer.abort([message])
    assert waiting(ingest) == [Batch("named-monday", 0)]


def test_a_repeated_write_that_waits_waits_as_the_first_one_did(tmp_path: Path, ingest: Shelf) -> None:
    chosen = options(tmp_path, wait="true", timeout="200ms", id="monday")
    for _ in range(2):
        writer = BatchWriter(chosen, STRUCT)
        message = writer.write(iter([rows(1)]))
        with pytest.raises(TimedOut):
            writer.commit([message])
    assert len(ingest.names("data/")) == 1


def test_pieces_that_only_executors_see_make_no_batch(tmp_path: Path, ingest: Shelf) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    messages = write(writer, of_query("q", 0), 1)
    ((name, _),) = messages[0].pieces
    ingest.delete(name)
    with pytest.raises(UserError, match="wrote to another store than the topology's"):
        writer.commit([*messages], 0)
    assert waiting(ingest) == []


def test_a_driver_that_waited_for_room_finds_what_another_has_published(
    tmp_path: Path, ingest: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = StreamWriter(options(tmp_path), STRUCT)
    first, second = write(writer, of_query("q", 0), 1), write(writer, of_query("q", 0), 1)
    monkeypatch.setattr(
        writer, "_wait_for_room", lambda *_: publish(ingest, of_query("q", 0), first[0].pieces, 4)
    )
    writer.commit([*second], 0)
    assert [name for name, _ in first[0].pieces] == ingest.names("data/")


def test_a_failed_write_leaves_nothing(tmp_path: Path, ingest: Shelf) -> None:
    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.RecordBatch.from_pydict({"word": ["x" * 5_000_000], "number": [1]})
        msg = "out of luck"
        raise OSError(msg)

    writer = BatchWriter(options(tmp_path), STRUCT)
    with pytest.raises(OSError, match="out of luck"):
        writer.write(failing())
    assert ingest.names("data/") == []
    writer.write(iter([rows(1)]))  # of a task that was not heard of any more
    writer.abort([None])
    assert ingest.names("data/") == []


@pytest.mark.parametrize("nested", [False, True])
def test_dates_that_python_has_not_stay_in_spark(nested: bool) -> None:
    kind = pyarrow.timestamp("us", "UTC")
    schema = pyarrow.schema([("at", pyarrow.map_(pyarrow.string(), pyarrow.list_(kind)) if nested else kind)])

    def gathered(seconds: int) -> list[Any]:
        moment = pyarrow.array([None, seconds * 1_000_000], pyarrow.int64()).cast(kind)
        if nested:
            lists = pyarrow.ListArray.from_arrays([0, 2], moment)
            moment = pyarrow.MapArray.from_arrays([0, 1], ["a"], lists)
        return list(_gathered([pyarrow.RecordBatch.from_arrays([moment], schema=schema)], schema))

    ((batch,),) = gathered(253_402_300_799)
    assert batch.num_rows == (1 if nested else 2)
    with pytest.raises(UserError, match="column 'at' has a date that Python cannot hold"):
        gathered(253_402_300_800)


def test_what_would_replace_the_rows_of_a_topology_is_refused(tmp_path: Path) -> None:
    source = HeronDataSource({"topology": "fed", "component": "rows", "path": str(tmp_path / "store")})
    with pytest.raises(UserError, match="cannot be overwritten, only fed"):
        source.streamWriter(STRUCT, overwrite=True)


def test_large_batches_become_several_pieces(tmp_path: Path, ingest: Shelf) -> None:
    writer = BatchWriter(options(tmp_path), STRUCT)
    large = pyarrow.RecordBatch.from_pydict({"word": ["x" * 3_000_000], "number": [1]})
    message = writer.write(iter([large, large, large]))
    assert isinstance(message, Written)
    assert [count for _, count in message.pieces] == [2, 1]


def test_the_source_and_its_writers_travel_to_executors(tmp_path: Path) -> None:
    source = HeronDataSource({"topology": "fed", "component": "rows", "path": str(tmp_path / "store")})
    again = pickle.loads(pickle.dumps(source))
    for writer in (again.writer(STRUCT, False), again.streamWriter(STRUCT, False)):
        assert pickle.loads(pickle.dumps(writer))._options == source._chosen
    with pytest.raises(UserError, match=r"^topology 'fed' has no SegmentSink 'rows', or has not been"):
        again.schema()
