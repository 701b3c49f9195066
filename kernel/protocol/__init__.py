"""Control messages, all defined in control.proto (`make proto` generates the rest)."""

from heronpy.kernel.protocol.control_pb2 import (
    CheckpointsNotice,
    ContainerBeat,
    ContainerMetrics,
    Envelope,
    HoldUp,
    InstanceBeat,
    LiveNotice,
    MetricsReport,
    Part,
    PlanNotice,
    Sample,
    StatusReply,
    StatusRequest,
    Stored,
    UpdateNotice,
)
from heronpy.kernel.protocol.envelope import PROTOCOL_VERSION, Body, unwrap, wrap

__all__ = [
    "PROTOCOL_VERSION",
    "Body",
    "CheckpointsNotice",
    "ContainerBeat",
    "ContainerMetrics",
    "Envelope",
    "HoldUp",
    "InstanceBeat",
    "LiveNotice",
    "MetricsReport",
    "Part",
    "PlanNotice",
    "Sample",
    "StatusReply",
    "StatusRequest",
    "Stored",
    "UpdateNotice",
    "unwrap",
    "wrap",
]
