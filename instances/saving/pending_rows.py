"""Rows that a component has emitted and that wait for credit: they are part of its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from heronpy.instances.output.collector import Collector
from heronpy.instances.output.outbox import Outbox
from heronpy.kernel.plans import PhysicalPlan

#: their key in the extras of a snapshot
ROWS: Final = "rows"


class PendingRows(msgspec.Struct, frozen=True, array_like=True):
    """Rows of one stream for one task of one of its readers."""

    stream: str
    consumer: str
    task: int
    #: as the codec encodes them
    rows: bytes


_DECODER = msgspec.msgpack.Decoder(list[PendingRows])


def encode_unsent(outbox: Outbox, plan: PhysicalPlan) -> bytes | None:
    """All rows that wait to be sent, oldest first; None if there are none."""
    batches = [
        PendingRows(
            plan.streams[lane.stream][1],
            plan.task(lane.channel.task).component,
            lane.channel.task,
            outbox.codec.encode(lane.rows),
        )
        for lane in outbox.unsent()
    ]
    return msgspec.msgpack.encode(batches) if batches else None


def put_back(extras: Mapping[str, bytes], outbox: Outbox, collector: Collector, plan: PhysicalPlan) -> None:
    """Queue the pending rows of a snapshot before all others, for the tasks that get them by this plan."""
    found = extras.get(ROWS)
    if found is None:
        return
    for batch in _DECODER.decode(found):
        rows = [tuple(row) for row in outbox.codec.decode(batch.rows)]
        collector.put_back(plan, batch.stream, batch.consumer, batch.task, rows)
