"""The envelope of every control message: a version, and a body of one of several kinds."""

from __future__ import annotations

from typing import Final, TypeAlias

from google.protobuf.message import DecodeError

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.formats import PROTOCOL
from heronpy.kernel.protocol import control_pb2 as pb

PROTOCOL_VERSION: Final = PROTOCOL

Body: TypeAlias = (
    pb.ProcessBeat
    | pb.PlanNotice
    | pb.LiveNotice
    | pb.ContainerBeat
    | pb.MetricsReport
    | pb.ContainerMetrics
    | pb.StatusRequest
    | pb.StatusReply
    | pb.CheckpointsNotice
    | pb.UpdateNotice
    | pb.LogsRequest
    | pb.LogsReply
    | pb.LogRequest
    | pb.LogReply
)

_FIELDS = {
    field.message_type.name: field.name
    for field in pb.Envelope.DESCRIPTOR.oneofs_by_name["body"].fields
    if field.message_type is not None
}


def wrap(body: Body) -> bytes:
    """The bytes of one control message."""
    envelope = pb.Envelope(version=PROTOCOL_VERSION)
    getattr(envelope, _FIELDS[body.DESCRIPTOR.name]).CopyFrom(body)
    return envelope.SerializeToString()


def unwrap(data: bytes) -> Body:
    """The message in these bytes; ProtocolError with the reason if there is none."""
    try:
        envelope = pb.Envelope.FromString(data)
    except DecodeError as error:
        msg = f"not a control message ({len(data)} bytes)"
        raise ProtocolError(msg) from error
    if envelope.version != PROTOCOL_VERSION:
        msg = f"control protocol version {envelope.version}, this side speaks {PROTOCOL_VERSION}"
        raise ProtocolError(msg)
    kind = envelope.WhichOneof("body")
    if kind is None:
        msg = "control message of an unknown kind"
        raise ProtocolError(msg)
    body: Body = getattr(envelope, kind)
    return body
