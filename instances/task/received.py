"""What a data frame brings: tuples, or all rows at once, as lists or columns, whichever form they came in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

from heronpy.column_schema import arrow_schema
from heronpy.instances.acking.ack_codec import decode_anchored, decode_joined, decode_leaves
from heronpy.instances.acking.anchored import LeafId, TrackedId, divided, tracked
from heronpy.instances.near_rows import NearColumns, NearRows, Payload
from heronpy.instances.output.codec import Codec
from heronpy.instances.output.columns.column_codec import decode_columns, is_columns
from heronpy.instances.output.columns.row_fitting import array_of, column_errors
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.column_split import rows_of
from heronpy.kernel.flow.frame import ANCHORED, Prefix
from heronpy.kernel.plans import PhysicalPlan
from heronpy.tuple import Tuple, tuple_class


class StreamKind(NamedTuple):
    """One stream of the plan."""

    component: str
    stream: str
    #: of its tuples
    tuples: type[Tuple]
    #: as Arrow encodes it; empty for a stream of rows
    schema: bytes


#: makes one tuple that stands for all rows of a frame
OpenWhole = Callable[[StreamKind, Prefix, Payload, Codec], Tuple]


def stream_kinds(plan: PhysicalPlan) -> list[StreamKind]:
    """By the number that a stream has in frames."""
    found = []
    for component, name in plan.streams:
        declared = plan.logical.component(component).stream(name)
        assert declared is not None
        found.append(StreamKind(component, name, tuple_class(declared.fields), declared.schema))
    return found


def open_tuples(
    kind: StreamKind, prefix: Prefix, payload: Payload, codec: Codec, *, leaves: bool = False
) -> list[Tuple]:
    """The tuples of a frame; ProtocolError when they are not what its prefix says.

    `leaves`: no task reads what is made of them.
    """
    repeat = itertools.repeat
    ids: Iterable[LeafId | None] = repeat(None)
    if _is_columns(payload):
        batch, anchor = _columns(kind, prefix, payload)
        rows = rows_of(batch)
        if anchor is not None:
            ids = map(tracked, divided(anchor, len(rows)))
    else:
        encoded = _encoded(payload)
        if prefix.kind == ANCHORED:
            decode = decode_leaves if leaves else decode_anchored
            ids, encoded = decode(encoded, prefix.tuples)
        rows = _rows(prefix, payload, encoded, codec)
    # In C from end to end: zip() fills the same tuple again and again, and each Tuple is a copy of it.
    values = zip(ids, repeat(kind.component), repeat(kind.stream), repeat(prefix.source), rows, strict=False)
    return list(map(tuple.__new__, repeat(kind.tuples), values))


def open_rows(kind: StreamKind, prefix: Prefix, payload: Payload, codec: Codec) -> Tuple:
    """The rows of a frame as lists: the values of a tuple that stands for all of them."""
    tup_id: TrackedId | None = None
    if _is_columns(payload):
        batch, anchor = _columns(kind, prefix, payload)
        tup_id, rows = tracked(anchor), rows_of(batch)
    else:
        encoded = _encoded(payload)
        if prefix.kind == ANCHORED:
            tup_id, encoded = decode_joined(encoded, prefix.tuples)
        rows = _rows(prefix, payload, encoded, codec)
    return Tuple(tup_id, kind.component, kind.stream, prefix.source, rows)


def open_columns(kind: StreamKind, prefix: Prefix, payload: Payload, codec: Codec) -> Tuple:
    """The same as a record batch."""
    if _is_columns(payload):
        batch, anchor = _columns(kind, prefix, payload)
        return Tuple(tracked(anchor), kind.component, kind.stream, prefix.source, batch)
    opened = open_rows(kind, prefix, payload, codec)
    return opened._replace(values=_converted(kind, opened.values))


def _is_columns(payload: Payload) -> TypeGuard[bytes | NearColumns]:
    return isinstance(payload, NearColumns) or (isinstance(payload, bytes) and is_columns(payload))


def _columns(kind: StreamKind, prefix: Prefix, payload: bytes | NearColumns) -> Any:
    if isinstance(payload, NearColumns):
        return payload.batch, payload.anchor
    if not kind.schema:
        msg = f"columns on stream {kind.stream!r} of {kind.component!r}, which has no schema"
        raise ProtocolError(msg)
    batch, anchor = decode_columns(payload, arrow_schema(kind.schema))
    if batch.num_rows != prefix.tuples or (anchor is not None) is not (prefix.kind == ANCHORED):
        msg = f"{batch.num_rows} rows of columns, anchored to {anchor}, in a frame of {prefix.tuples} tuples"
        raise ProtocolError(msg)
    return batch, anchor


def _encoded(payload: Payload) -> bytes:
    """What is encoded of a batch of rows: its anchors, or these and the rows."""
    assert not isinstance(payload, NearColumns)
    return payload.anchors if isinstance(payload, NearRows) else payload


def _rows(prefix: Prefix, payload: Payload, encoded: bytes, codec: Codec) -> list[list[Any]]:
    """The values of a batch; `encoded` is what follows the anchors."""
    rows = payload.opened() if isinstance(payload, NearRows) else codec.decode(encoded)
    if len(rows) != prefix.tuples:
        msg = f"{len(rows)} tuples instead of {prefix.tuples}"
        raise ProtocolError(msg)
    return rows


def _converted(kind: StreamKind, rows: Sequence[Any]) -> Any:
    """ProtocolError for rows that do not fit the schema of their stream: their emitter has checked them."""
    import pyarrow as pa

    schema = arrow_schema(kind.schema)
    try:
        given = zip(schema.types, zip(*rows, strict=True), strict=True)
        columns = [array_of(values, column) for column, values in given]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    except column_errors() as error:
        msg = f"rows of stream {kind.stream!r} of {kind.component!r} that do not fit its Schema: {error}"
        raise ProtocolError(msg) from error
