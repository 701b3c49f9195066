"""Batches to payloads of frames: rows by the codec of the topology, columns as Arrow has them."""

from __future__ import annotations

import itertools

from heronpy.instances.acking.ack_codec import encode_anchored
from heronpy.instances.acking.anchored import Edges, runs
from heronpy.instances.near_rows import NearColumns, NearRows, Payload
from heronpy.instances.output.codec import Codec
from heronpy.instances.output.columns.column_codec import encode_columns
from heronpy.kernel.errors import TupleTooLarge
from heronpy.kernel.flow.batches import ColumnBatch, RowBatch
from heronpy.kernel.flow.frame import ANCHORED, DATA


def packed(batch: RowBatch | ColumnBatch, codec: Codec, *, near: bool) -> tuple[Payload, int]:
    """The payload, and the kind of its frame; to a task of the same process, without a codec if possible."""
    if not near:
        return encode_batch(batch, codec)
    if isinstance(batch, ColumnBatch):
        return NearColumns(*batch), DATA if batch.anchor is None else ANCHORED
    rows, edges = batch
    anchors, kind = (encode_anchored(edges, b""), ANCHORED) if any(edges) else (b"", DATA)
    if codec.settled.issuperset(map(type, itertools.chain.from_iterable(rows))):
        return NearRows(rows, anchors, codec.encode), kind
    return anchors + codec.encode(rows), kind


def encode_batch(batch: RowBatch | ColumnBatch, codec: Codec) -> tuple[bytes, int]:
    """The payload, and the kind of its frame."""
    if isinstance(batch, ColumnBatch):
        return encode_columns(*batch), DATA if batch.anchor is None else ANCHORED
    rows, edges = batch
    payload = codec.encode(rows)
    return (encode_anchored(edges, payload), ANCHORED) if any(edges) else (payload, DATA)


def anchors_of(batch: RowBatch | ColumnBatch) -> list[Edges]:
    """What its rows are anchored to, together or by themselves; empty where nothing is tracked."""
    return [batch.anchor] if isinstance(batch, ColumnBatch) else [edges for edges, _ in runs(batch.anchors)]


def too_large(size: int, component: str, stream: str, most: int) -> TupleTooLarge:
    """The error for a single tuple that no frame takes."""
    where = f"on stream {stream!r} of {component!r}"
    msg = f"a tuple of {size} bytes {where} does not fit into a frame of {most} bytes"
    return TupleTooLarge(msg, stream=stream)
