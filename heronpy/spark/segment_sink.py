"""Writes rows where Spark reads them: Arrow segments in the checkpoint store."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.bolt import Bolt
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.formats import HANDLE
from heronpy.sinks.files import with_given
from heronpy.spark import schema as schemas
from heronpy.spark.arrow_stream import to_stream
from heronpy.spark.packages import arrow
from heronpy.spark.segments import COMMITTED, DATA, Present, Segment, parse_part, part_name
from heronpy.spark.shelf import Shelf
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.transactions import TransactionalSink
from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: below the component's own prefix
SEGMENTS = "segments"
#: of each task, the lane of the process that has its place
_LIVES = "lives/"
#: rows that become one batch of Arrow's, and bytes that become one object
_ROWS = 8192
_BYTES = 8 << 20


class _Handle(msgspec.Struct):
    #: where the segment is: a topology that begins with another one's checkpoint commits it there
    prefix: str
    lane: str
    number: int
    parts: int


class SegmentSink(TransactionalSink, Bolt):
    """Writes one row per tuple for `spark.readStream.format("heron")`, which deletes what it has read.

    The columns are those of `schema`, each from the field of that name; override `row` to give others.
    """

    SCHEMA = "segmentsink.schema"

    #: what is written outlives a restart from a checkpoint
    keeps_objects = True

    columns: Sequence[str]
    _shelf: Shelf
    _schema: Any
    _lane: str
    _number: int

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        inputs: Any = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
        *,
        schema: Any = None,
    ) -> HeronComponentSpec:
        """`schema` maps columns to Arrow types, as text (`{"word": "string"}`), or is a pyarrow.Schema."""
        given = {cls.SCHEMA: schemas.encoded(schema)}
        return super().spec(name, inputs, par, with_given(config, given), optional_outputs)

    def row(self, tup: Tuple) -> Sequence[Any]:
        """The values of the columns, in order. Override it as you like."""
        return [tup[column] for column in self.columns]

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        component = context.get_component_id()
        self._schema = schemas.declared(config, self.SCHEMA, component)
        self.columns = tuple(self._schema.names)
        self._shelf = Shelf(context.open_store(), f"{context.object_prefix}/{SEGMENTS}")
        schemas.keep(self._shelf, self._schema, repr(component))
        # the topology is in the prefix
        self._owner = self.owner.removeprefix(f"{context.get_topology_name()}-")
        self._lane = f"{self._owner}-{secrets.token_hex(4)}"
        self._shelf.write(f"{_LIVES}{self._owner}", self._lane.encode())
        self._number = 0
        #: lane and number of what this process has committed, whenever the store will list it
        self._marked: set[tuple[str, int]] = set()
        #: tuples of each prepared segment: only where tuples are tracked
        self._prepared: dict[int, list[Tuple]] = {}
        self._clear()

    def _clear(self) -> None:
        self._rows: list[Sequence[Any]] = []
        self._batches: list[Any] = []
        self._bytes = self._parts = 0
        #: characters and bytes in rows that are no batch yet
        self._long = 0
        self._written: list[Tuple] = []

    def begin(self) -> None:
        """A segment is made with the first row, so that none is empty."""

    def process(self, tup: Tuple) -> None:
        row = self.row(tup)
        self._rows.append(row)
        self._long += sum(len(value) for value in row if type(value) is str or type(value) is bytes)
        if len(self._rows) >= _ROWS or self._long >= _BYTES:
            self._close_batch()
        if tup.id is None:
            self.ack(tup)
        else:
            self._written.append(tup)

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002
        self._close_batch()
        self._write_part()
        if not self._parts:
            return b""
        handle = _Handle(self._shelf.prefix, self._lane, self._number, self._parts)
        self._prepared[self._number] = self._written
        self._number += 1
        self._clear()
        return HANDLE.encode(handle)

    def commit(self, handle: bytes) -> None:
        named = HANDLE.decode(handle, _Handle, "a transaction of a SegmentSink")
        segment = Segment(named.lane, named.number, named.parts)
        shelf = Shelf(self._shelf.store, named.prefix)
        # if it has no data it was committed before, and Spark has read it; but not if we have just made it
        there = shelf.has(part_name(segment.lane, segment.number, 0))
        if segment.lane == self._lane and not (there and self._has_its_place()):
            msg = f"lane {self._lane} is gone: another process has taken the place of this task"
            raise TopologyError(msg)
        if there:
            shelf.write(segment.mark, b"")
            self._marked.add(segment[:2])
        if segment.lane == self._lane:
            for tup in self._prepared.pop(segment.number, ()):
                self.ack(tup)

    def _has_its_place(self) -> bool:
        return self._shelf.find(f"{_LIVES}{self._owner}") == self._lane.encode()

    def abort(self) -> None:
        parts = self._shelf.names(f"{DATA}{self._owner}-")
        committed = Present.of(self._shelf.names(f"{COMMITTED}{self._owner}-"), parts).committed
        for name in parts:
            segment = parse_part(name)
            if segment.number not in committed.get(segment.lane, ()) and segment[:2] not in self._marked:
                self._shelf.delete(name)

    def close(self) -> None:
        if (shelf := getattr(self, "_shelf", None)) is not None:
            shelf.close()

    def _close_batch(self) -> None:
        rows, self._rows, self._long = self._rows, [], 0
        if not rows:
            return
        batch = self._batch(rows)
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _BYTES:
            self._write_part()

    def _write_part(self) -> None:
        batches, self._batches, self._bytes = self._batches, [], 0
        if batches:
            self._shelf.write(part_name(self._lane, self._number, self._parts), to_stream(batches))
            self._parts += 1

    def _batch(self, rows: list[Sequence[Any]]) -> Any:
        pa = arrow()
        columns = list(zip(*rows, strict=True)) if len(rows[0]) == len(self.columns) else []
        if len(columns) != len(self.columns):
            msg = f"a row of {len(rows[0])} values for the columns {schemas.shown(self._schema)}"
            raise TopologyError(msg)
        arrays = [_array(field, values) for field, values in zip(self._schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(field: Any, values: Sequence[Any]) -> Any:
    """A column; TopologyError with the first value that it cannot hold."""
    pa = arrow()
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        for value in values:
            try:
                pa.array([value], type=field.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                msg = f"column {field.name!r} has the type {field.type} and cannot hold {value!r}"
                raise TopologyError(msg) from error
        raise
