"""Rows that a component has emitted and that wait for credit: they are part of its snapshot."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

import msgspec

from heronpy.column_schema import arrow_schema
from heronpy.instances.output.codec import Codec
from heronpy.instances.output.collector import Collector
from heronpy.instances.output.column_codec import decode_columns, encode_columns, is_columns
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.errors import TopologyError
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


_DECODER = msgspec.msgpack.Decoder(list[PendingRows])


def encode_unsent(outbox: Outbox, plan: PhysicalPlan) -> bytes | None:
    """All rows that wait to be sent, oldest first; None if there are none."""
    batches = [
        PendingRows(
            plan.streams[lane.stream][1],
            plan.task(lane.channel.task).component,
            lane.channel.task,
            _encoded(batch, outbox.codec),
        )
        for lane in outbox.unsent()
        for batch in lane.batches()
    ]
    return msgspec.msgpack.encode(batches) if batches else None


def put_back(extras: Mapping[str, bytes], outbox: Outbox, collector: Collector, plan: PhysicalPlan) -> None:
    """Queue the pending rows of a snapshot before all others, for the tasks that get them by this plan."""
    found = extras.get(ROWS)
    if found is None:
        return
    for batch in _DECODER.decode(found):
        make = functools.partial(_decoded, batch.rows, outbox.codec)
        collector.put_back(plan, batch.stream, batch.consumer, batch.task, make)


def _encoded(batch: RowBatch | ColumnBatch, codec: Codec) -> bytes:
    """Without anchors: where rows are saved, no trees are tracked."""
    return encode_columns(batch.rows, None) if isinstance(batch, ColumnBatch) else codec.encode(batch.rows)


def _decoded(data: bytes, codec: Codec, stream: DeclaredStream) -> RowBatch | ColumnBatch:
    if not is_columns(data):
        return RowBatch([codec.freeze(tuple(row)) for row in codec.decode(data)], [])
    if not stream.schema:
        msg = f"the checkpoint has columns of stream {stream.name!r}, which declares no Schema any more"
        raise TopologyError(msg)
    return ColumnBatch(decode_columns(data, arrow_schema(stream.schema))[0], None)
