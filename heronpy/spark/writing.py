"""From Spark to a topology: pieces are written by Spark's tasks, and made one batch by its driver."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from heronpy.kernel.config.units import format_duration
from heronpy.kernel.errors import TimedOut, UserError
from heronpy.spark.arrow_stream import to_stream
from heronpy.spark.batches import SPLITS, Batch, has_been, of_query, of_write, publish, waiting
from heronpy.spark.options import Options
from heronpy.spark.packages import arrow, needed
from heronpy.spark.schema import shown, to_spark
from heronpy.spark.shelf import Shelf

#: bytes that become one piece, so that several tasks can share what one of Spark's has written
_BYTES = 4 << 20
#: seconds between two looks whether the topology has taken something over
_LOOK = 0.1


class Written(WriterCommitMessage):
    """What one task of Spark's has written."""

    def __init__(self, batch: Batch, pieces: list[tuple[str, int]]) -> None:
        self.batch = batch
        self.pieces = pieces


class _Writing:
    """What batch and stream have in common."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        shelf = options.open("ingest")
        try:
            own = options.schema(shelf, "ingest")
        finally:
            shelf.close()
        _check(options, own, schema)
        self._schema = own.serialize().to_pybytes()

    def _write(self, batch: Batch, iterator: Iterable[Any]) -> Written:
        """One object for each few megabytes. A task that is repeated writes others: only these are named."""
        pa, shelf = arrow(), self._options.open("ingest")
        schema = pa.ipc.read_schema(pa.py_buffer(self._schema))
        attempt = secrets.token_hex(6)
        pieces: list[tuple[str, int]] = []
        try:
            for number, batches in enumerate(_gathered(iterator, schema)):
                name = f"{batch.pieces}{attempt}-{number:06d}"
                shelf.write(name, to_stream(batches))
                pieces.append((name, sum(each.num_rows for each in batches)))
        except BaseException:
            _delete(shelf, pieces)
            raise
        finally:
            shelf.close()
        return Written(batch, pieces)

    def _commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        pieces = [piece for message in written for piece in message.pieces]
        if not pieces:
            return
        batch, shelf = written[0].batch, self._options.open("ingest")
        try:
            if not has_been(shelf, batch):
                self._wait_for_room(shelf, batch)
            # checked again: the driver that this one replaces may have continued meanwhile
            if has_been(shelf, batch):
                _delete(shelf, pieces)
            else:
                self._check_place(shelf, batch, pieces)
                publish(shelf, batch, pieces, int(shelf.read(SPLITS)))
            if self._options.wait:
                self._wait_until_taken_over(shelf, batch)
        finally:
            shelf.close()

    def _abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        shelf = self._options.open("ingest")
        try:
            for message in messages:
                # It may have been published, if the failure came after that; then it stays.
                if isinstance(message, Written) and not has_been(shelf, message.batch):
                    _delete(shelf, message.pieces)
        finally:
            shelf.close()

    def _check_place(self, shelf: Shelf, batch: Batch, pieces: Iterable[tuple[str, int]]) -> None:
        """Check that the pieces are in the topology's store: it would take a missing one as taken over."""
        if missing := {name for name, _ in pieces}.difference(shelf.names(batch.pieces)):
            msg = f"Spark's executors wrote to another store than the topology's: no {min(missing)}"
            raise UserError(msg, hint="set the option `path` to a folder that all machines see, or to a URL")

    def _wait_for_room(self, shelf: Shelf, batch: Batch) -> None:
        deadline = time.monotonic() + self._options.timeout
        while len(before := waiting(shelf, batch.query)) >= self._options.outstanding:
            if time.monotonic() >= deadline:
                msg = (
                    f"{self._options.what('ingest')} has not taken over batch {before[0].number}, and"
                    f" {len(before)} wait already, in {format_duration(self._options.timeout)}"
                )
                raise TimedOut(msg, hint=f"heronpy status {self._options.topology}")
            time.sleep(_LOOK)

    def _wait_until_taken_over(self, shelf: Shelf, batch: Batch) -> None:
        deadline = time.monotonic() + self._options.timeout
        while shelf.has(batch.manifest):
            if time.monotonic() >= deadline:
                msg = (
                    f"{self._options.what('ingest')} has the batch, and no complete checkpoint with it in"
                    f" {format_duration(self._options.timeout)}"
                )
                raise TimedOut(msg, hint=f"heronpy status {self._options.topology}; do not write it again")
            time.sleep(_LOOK)


class BatchWriter(_Writing, DataSourceArrowWriter):
    """df.write: one batch. With the option `id` it is taken over once, however often it is written."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._batch = of_write(secrets.token_hex(8), options.id)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self._write(self._batch, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.id:
            self._abort(messages)
            return
        # No other writer has this batch: pieces of tasks that failed without a message are deleted, too.
        shelf = self._options.open("ingest")
        try:
            if not has_been(shelf, self._batch):
                _delete(shelf, [(name, 0) for name in shelf.names(self._batch.pieces)])
        finally:
            shelf.close()


class StreamWriter(_Writing, DataSourceStreamArrowWriter):
    """df.writeStream: a batch for each micro-batch, known by the query's id and its own number."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        task = TaskContext.get()
        assert task is not None
        query, number = (
            task.getLocalProperty(key) for key in ("sql.streaming.queryId", "streaming.sql.batchId")
        )
        if not query or not number:
            msg = "Spark does not say which query and batch this is"
            raise UserError(msg, hint="use PySpark 4.3, the tested version")
        return self._write(of_query(query, int(number)), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        self._abort(messages)


def _gathered(iterator: Iterable[Any], schema: Any) -> Iterator[list[Any]]:
    """Batches in the topology's own schema, as many together as make a piece."""
    batches: list[Any] = []
    size = 0
    for batch in iterator:
        if batch.num_rows:
            batches.append(_checked(batch.select(schema.names).cast(schema)))
            size += batch.nbytes
        if size >= _BYTES:
            yield batches
            batches, size = [], 0
    if batches:
        yield batches


def _checked(batch: Any) -> Any:
    """Check that Python can hold all dates of a batch: otherwise the spout would crash on it for ever."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for leaf in _moments(column):
            try:
                needed("pyarrow.compute").min_max(leaf).as_py()
            except (OverflowError, ValueError):
                msg = f"column {name!r} has a date that Python cannot hold: its years are 1 to 9999, in UTC"
                raise UserError(msg, hint="use a date in that range for an open end") from None
    return batch


def _moments(column: Any) -> Iterator[Any]:
    """The dates and times in a column, however deep."""
    types = arrow().types
    if types.is_date(column.type) or types.is_timestamp(column.type):
        yield column
    elif types.is_nested(column.type):
        inner = [column.keys, column.items] if types.is_map(column.type) else column.flatten()
        for each in inner if isinstance(inner, list) else [inner]:
            yield from _moments(each)


def _delete(shelf: Shelf, pieces: Iterable[tuple[str, int]]) -> None:
    for name, _ in pieces:
        shelf.delete(name)


def _check(options: Options, own: Any, given: StructType) -> None:
    have = {field.name: field.dataType for field in to_spark(own)}
    if have != {field.name: field.dataType for field in given}:
        msg = (
            f"{options.what('ingest')} takes the columns {shown(own)}, and the DataFrame has"
            f" {given.simpleString()}"
        )
        raise UserError(msg, hint="use df.select(…), with .cast(…) where types differ")
