"""Control messages, all defined in control.proto (`make proto` generates the rest)."""

from heronpy.kernel.protocol.control_pb2 import (
    ContainerBeat,
    ContainerMetrics,
    Envelope,
    HoldUp,
    InstanceBeat,
    LiveNotice,
    MetricsReport,
    PlanNotice,
    Sample,
    StatusReply,
    StatusRequest,
)
from heronpy.kernel.protocol.envelope import PROTOCOL_VERSION, Body, unwrap, wrap

__all__ = [
    "PROTOCOL_VERSION",
    "Body",
    "ContainerBeat",
    "ContainerMetrics",
    "Envelope",
    "HoldUp",
    "InstanceBeat",
    "LiveNotice",
    "MetricsReport",
    "PlanNotice",
    "Sample",
    "StatusReply",
    "StatusRequest",
    "unwrap",
    "wrap",
]
