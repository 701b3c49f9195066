"""Rows that a component has emitted and that wait for credit: they are part of its snapshot."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from heronpy.column_schema import arrow_schema
from heronpy.instances.output.channel import Lane
from heronpy.instances.output.codec import Codec, Row
from heronpy.instances.output.collector import Collector
from heronpy.instances.output.columns.column_codec import decode_columns, encode_columns, is_columns
from heronpy.instances.output.columns.row_fitting import RowFitting, UnfitError, type_of, unfit
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.errors import ProtocolError, TopologyError
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.plans import DeclaredStream, PhysicalPlan

#: their key in the extras of a snapshot
ROWS: Final = "rows"


class PendingRows(msgspec.Struct, frozen=True, array_like=True):
    """Rows of one stream for one task of one of its readers."""

    stream: str
    consumer: str
    task: int
    #: as the codec encodes them, or a record batch as it is in a frame
    rows: bytes
    #: of the stream when they were emitted; empty for a stream of rows
    schema: bytes = b""


_HINT: Final = (
    "start from it with the stream as it was; change the stream when a checkpoint is taken in which nothing"
    " waits, as after heronpy deactivate"
)
_DECODER = msgspec.msgpack.Decoder(list[PendingRows])


def encode_unsent(outbox: Outbox, plan: PhysicalPlan) -> bytes | None:
    """All rows that wait to be sent, oldest first; None if there are none."""
    batches = [_of_lane(lane, batch, outbox, plan) for lane in outbox.unsent() for batch in lane.batches()]
    return msgspec.msgpack.encode(batches) if batches else None


def put_back(
    extras: Mapping[str, bytes], outbox: Outbox, collector: Collector, plan: PhysicalPlan, component: str
) -> None:
    """Queue the pending rows of a snapshot before all others, for the tasks that get them by this plan.

    TopologyError for rows that `component`, by its present Schema, cannot have emitted.
    """
    found = extras.get(ROWS)
    if found is None:
        return
    for batch in _DECODER.decode(found):
        make = functools.partial(_decoded, batch, outbox.codec, component)
        collector.put_back(plan, batch.stream, batch.consumer, batch.task, make)


def _of_lane(lane: Lane, batch: RowBatch | ColumnBatch, outbox: Outbox, plan: PhysicalPlan) -> PendingRows:
    component, stream = plan.streams[lane.stream]
    declared = plan.logical.component(component).stream(stream)
    assert declared is not None
    task = lane.channel.task
    rows = _encoded(batch, outbox.codec)
    return PendingRows(stream, plan.task(task).component, task, rows, declared.schema)


def _encoded(batch: RowBatch | ColumnBatch, codec: Codec) -> bytes:
    """Without anchors: where rows are saved, no trees are tracked."""
    return encode_columns(batch.rows, None) if isinstance(batch, ColumnBatch) else codec.encode(batch.rows)


def _decoded(
    pending: PendingRows, codec: Codec, component: str, stream: DeclaredStream
) -> RowBatch | ColumnBatch:
    """As they are emitted by the present Schema of the stream; the two must be equal if there was one."""
    where = f"stream {stream.name!r} of {component!r}"
    columns = is_columns(pending.rows)
    if columns and not stream.schema:
        msg = f"the checkpoint has columns of {where}, which declares no Schema any more"
        raise TopologyError(msg, hint=_HINT)
    try:
        if stream.schema and (columns or pending.schema):
            _check_schema(pending.schema, stream.schema, where)
        if columns:
            return ColumnBatch(decode_columns(pending.rows, arrow_schema(stream.schema))[0], None)
        rows = [tuple(row) for row in codec.decode(pending.rows)]
    except (ProtocolError, ValueError) as error:  # Arrow's, for a schema that is none, is a ValueError
        msg = f"what the checkpoint has of {where}, emitted and not sent, is damaged: {error}"
        raise TopologyError(msg, hint="use another checkpoint") from error
    if stream.schema and not pending.schema:
        rows = _fitted(rows, stream, where)
    return RowBatch([codec.freeze(row) for row in rows], [])


def _check_schema(before: bytes, now: bytes, where: str) -> None:
    old, new = arrow_schema(before), arrow_schema(now)
    if not old.equals(new):
        msg = f"the checkpoint has rows of {where} by {_shown(old)}, and now its Schema is {_shown(new)}"
        raise TopologyError(msg, hint=_HINT)


def _shown(schema: Any) -> str:
    return f"({', '.join(f'{field.name}: {type_of(field)}' for field in schema)})"


def _fitted(rows: list[Row], stream: DeclaredStream, where: str) -> list[Row]:
    """Rows that were emitted when the stream had no Schema."""
    wide = next((row for row in rows if len(row) != len(stream.fields)), None)
    try:
        if wide is None:
            return RowFitting(arrow_schema(stream.schema)).rows(rows)
        reason = f"a row of {len(wide)} values, and there are {len(stream.fields)} fields"
    except UnfitError as error:
        reason = unfit(error)
    msg = f"the checkpoint has rows of {where} that do not fit its new Schema: {reason}"
    raise TopologyError(msg, hint=_HINT)
