from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("version", "process_beat", "plan_notice", "live_notice", "container_beat", "metrics_report", "container_metrics", "status_request", "status_reply", "checkpoints_notice", "update_notice", "logs_request", "logs_reply", "log_request", "log_reply")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_BEAT_FIELD_NUMBER: _ClassVar[int]
    PLAN_NOTICE_FIELD_NUMBER: _ClassVar[int]
    LIVE_NOTICE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_BEAT_FIELD_NUMBER: _ClassVar[int]
    METRICS_REPORT_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_METRICS_FIELD_NUMBER: _ClassVar[int]
    STATUS_REQUEST_FIELD_NUMBER: _ClassVar[int]
    STATUS_REPLY_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_NOTICE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_NOTICE_FIELD_NUMBER: _ClassVar[int]
    LOGS_REQUEST_FIELD_NUMBER: _ClassVar[int]
    LOGS_REPLY_FIELD_NUMBER: _ClassVar[int]
    LOG_REQUEST_FIELD_NUMBER: _ClassVar[int]
    LOG_REPLY_FIELD_NUMBER: _ClassVar[int]
    version: int
    process_beat: ProcessBeat
    plan_notice: PlanNotice
    live_notice: LiveNotice
    container_beat: ContainerBeat
    metrics_report: MetricsReport
    container_metrics: ContainerMetrics
    status_request: StatusRequest
    status_reply: StatusReply
    checkpoints_notice: CheckpointsNotice
    update_notice: UpdateNotice
    logs_request: LogsRequest
    logs_reply: LogsReply
    log_request: LogRequest
    log_reply: LogReply
    def __init__(self, version: _Optional[int] = ..., process_beat: _Optional[_Union[ProcessBeat, _Mapping]] = ..., plan_notice: _Optional[_Union[PlanNotice, _Mapping]] = ..., live_notice: _Optional[_Union[LiveNotice, _Mapping]] = ..., container_beat: _Optional[_Union[ContainerBeat, _Mapping]] = ..., metrics_report: _Optional[_Union[MetricsReport, _Mapping]] = ..., container_metrics: _Optional[_Union[ContainerMetrics, _Mapping]] = ..., status_request: _Optional[_Union[StatusRequest, _Mapping]] = ..., status_reply: _Optional[_Union[StatusReply, _Mapping]] = ..., checkpoints_notice: _Optional[_Union[CheckpointsNotice, _Mapping]] = ..., update_notice: _Optional[_Union[UpdateNotice, _Mapping]] = ..., logs_request: _Optional[_Union[LogsRequest, _Mapping]] = ..., logs_reply: _Optional[_Union[LogsReply, _Mapping]] = ..., log_request: _Optional[_Union[LogRequest, _Mapping]] = ..., log_reply: _Optional[_Union[LogReply, _Mapping]] = ...) -> None: ...

class ProcessBeat(_message.Message):
    __slots__ = ("slot", "incarnation", "pid", "epoch", "live", "live_number", "checkpoints", "update", "instances")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    LIVE_NUMBER_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    slot: int
    incarnation: int
    pid: int
    epoch: int
    live: str
    live_number: int
    checkpoints: int
    update: int
    instances: _containers.RepeatedCompositeFieldContainer[InstanceBeat]
    def __init__(self, slot: _Optional[int] = ..., incarnation: _Optional[int] = ..., pid: _Optional[int] = ..., epoch: _Optional[int] = ..., live: _Optional[str] = ..., live_number: _Optional[int] = ..., checkpoints: _Optional[int] = ..., update: _Optional[int] = ..., instances: _Optional[_Iterable[_Union[InstanceBeat, _Mapping]]] = ...) -> None: ...

class InstanceBeat(_message.Message):
    __slots__ = ("task", "state", "error", "traceback", "busy", "held_up_by", "missing", "maybe_lost", "exposed", "run", "broken_run", "snapshot", "next_epoch", "handover", "loaded_epoch", "current_epoch", "held_seconds", "held", "unchanged_since", "poison", "ending", "totals", "event_time")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    HELD_UP_BY_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    MAYBE_LOST_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    BROKEN_RUN_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    NEXT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    HANDOVER_FIELD_NUMBER: _ClassVar[int]
    LOADED_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CURRENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    HELD_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_SINCE_FIELD_NUMBER: _ClassVar[int]
    POISON_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    task: int
    state: str
    error: str
    traceback: str
    busy: str
    held_up_by: _containers.RepeatedCompositeFieldContainer[HoldUp]
    missing: int
    maybe_lost: int
    exposed: int
    run: int
    broken_run: int
    snapshot: Stored
    next_epoch: int
    handover: Stored
    loaded_epoch: int
    current_epoch: int
    held_seconds: float
    held: Held
    unchanged_since: int
    poison: str
    ending: int
    totals: Totals
    event_time: EventTime
    def __init__(self, task: _Optional[int] = ..., state: _Optional[str] = ..., error: _Optional[str] = ..., traceback: _Optional[str] = ..., busy: _Optional[str] = ..., held_up_by: _Optional[_Iterable[_Union[HoldUp, _Mapping]]] = ..., missing: _Optional[int] = ..., maybe_lost: _Optional[int] = ..., exposed: _Optional[int] = ..., run: _Optional[int] = ..., broken_run: _Optional[int] = ..., snapshot: _Optional[_Union[Stored, _Mapping]] = ..., next_epoch: _Optional[int] = ..., handover: _Optional[_Union[Stored, _Mapping]] = ..., loaded_epoch: _Optional[int] = ..., current_epoch: _Optional[int] = ..., held_seconds: _Optional[float] = ..., held: _Optional[_Union[Held, _Mapping]] = ..., unchanged_since: _Optional[int] = ..., poison: _Optional[str] = ..., ending: _Optional[int] = ..., totals: _Optional[_Union[Totals, _Mapping]] = ..., event_time: _Optional[_Union[EventTime, _Mapping]] = ...) -> None: ...

class Totals(_message.Message):
    __slots__ = ("emitted", "executed", "acked", "failed", "custom")
    class CustomEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    EMITTED_FIELD_NUMBER: _ClassVar[int]
    EXECUTED_FIELD_NUMBER: _ClassVar[int]
    ACKED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    emitted: int
    executed: int
    acked: int
    failed: int
    custom: _containers.ScalarMap[str, float]
    def __init__(self, emitted: _Optional[int] = ..., executed: _Optional[int] = ..., acked: _Optional[int] = ..., failed: _Optional[int] = ..., custom: _Optional[_Mapping[str, float]] = ...) -> None: ...

class Held(_message.Message):
    __slots__ = ("keyed", "own", "used", "attributes")
    KEYED_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    keyed: int
    own: int
    used: bool
    attributes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, keyed: _Optional[int] = ..., own: _Optional[int] = ..., used: bool = ..., attributes: _Optional[_Iterable[str]] = ...) -> None: ...

class Stored(_message.Message):
    __slots__ = ("id", "run", "parts", "error", "held", "transactions")
    ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    id: int
    run: int
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    error: str
    held: Held
    transactions: int
    def __init__(self, id: _Optional[int] = ..., run: _Optional[int] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., error: _Optional[str] = ..., held: _Optional[_Union[Held, _Mapping]] = ..., transactions: _Optional[int] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("object", "checksum", "bytes", "groups", "whole", "opaque", "entries")
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    object: str
    checksum: str
    bytes: int
    groups: _containers.RepeatedScalarFieldContainer[int]
    whole: bool
    opaque: bool
    entries: int
    def __init__(self, object: _Optional[str] = ..., checksum: _Optional[str] = ..., bytes: _Optional[int] = ..., groups: _Optional[_Iterable[int]] = ..., whole: bool = ..., opaque: bool = ..., entries: _Optional[int] = ...) -> None: ...

class EventTime(_message.Message):
    __slots__ = ("input", "output", "waits_for", "held_by", "idle", "begins")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    BEGINS_FIELD_NUMBER: _ClassVar[int]
    input: int
    output: int
    waits_for: int
    held_by: str
    idle: bool
    begins: bool
    def __init__(self, input: _Optional[int] = ..., output: _Optional[int] = ..., waits_for: _Optional[int] = ..., held_by: _Optional[str] = ..., idle: bool = ..., begins: bool = ...) -> None: ...

class HoldUp(_message.Message):
    __slots__ = ("task", "seconds")
    TASK_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    task: int
    seconds: float
    def __init__(self, task: _Optional[int] = ..., seconds: _Optional[float] = ...) -> None: ...

class PlanNotice(_message.Message):
    __slots__ = ("epoch", "plan")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    plan: bytes
    def __init__(self, epoch: _Optional[int] = ..., plan: _Optional[bytes] = ...) -> None: ...

class LiveNotice(_message.Message):
    __slots__ = ("state", "number", "config")
    STATE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    state: str
    number: int
    config: bytes
    def __init__(self, state: _Optional[str] = ..., number: _Optional[int] = ..., config: _Optional[bytes] = ...) -> None: ...

class CheckpointsNotice(_message.Message):
    __slots__ = ("number", "node")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    number: int
    node: bytes
    def __init__(self, number: _Optional[int] = ..., node: _Optional[bytes] = ...) -> None: ...

class UpdateNotice(_message.Message):
    __slots__ = ("number", "node", "next_plan")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PLAN_FIELD_NUMBER: _ClassVar[int]
    number: int
    node: bytes
    next_plan: bytes
    def __init__(self, number: _Optional[int] = ..., node: _Optional[bytes] = ..., next_plan: _Optional[bytes] = ...) -> None: ...

class ContainerBeat(_message.Message):
    __slots__ = ("container", "incarnation", "endpoint", "processes")
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    container: int
    incarnation: int
    endpoint: str
    processes: _containers.RepeatedCompositeFieldContainer[ProcessBeat]
    def __init__(self, container: _Optional[int] = ..., incarnation: _Optional[int] = ..., endpoint: _Optional[str] = ..., processes: _Optional[_Iterable[_Union[ProcessBeat, _Mapping]]] = ...) -> None: ...

class Sample(_message.Message):
    __slots__ = ("name", "value", "kind", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    kind: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., kind: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class MetricsReport(_message.Message):
    __slots__ = ("source", "task", "incarnation", "pid", "samples")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    source: str
    task: int
    incarnation: int
    pid: int
    samples: _containers.RepeatedCompositeFieldContainer[Sample]
    def __init__(self, source: _Optional[str] = ..., task: _Optional[int] = ..., incarnation: _Optional[int] = ..., pid: _Optional[int] = ..., samples: _Optional[_Iterable[_Union[Sample, _Mapping]]] = ...) -> None: ...

class ContainerMetrics(_message.Message):
    __slots__ = ("container", "reports")
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    container: int
    reports: _containers.RepeatedCompositeFieldContainer[MetricsReport]
    def __init__(self, container: _Optional[int] = ..., reports: _Optional[_Iterable[_Union[MetricsReport, _Mapping]]] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("status",)
    STATUS_FIELD_NUMBER: _ClassVar[int]
    status: bytes
    def __init__(self, status: _Optional[bytes] = ...) -> None: ...

class LogsRequest(_message.Message):
    __slots__ = ("number",)
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    def __init__(self, number: _Optional[int] = ...) -> None: ...

class LogsReply(_message.Message):
    __slots__ = ("number", "logs")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    number: int
    logs: _containers.RepeatedCompositeFieldContainer[LogFile]
    def __init__(self, number: _Optional[int] = ..., logs: _Optional[_Iterable[_Union[LogFile, _Mapping]]] = ...) -> None: ...

class LogFile(_message.Message):
    __slots__ = ("name", "bytes", "first")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    name: str
    bytes: int
    first: int
    def __init__(self, name: _Optional[str] = ..., bytes: _Optional[int] = ..., first: _Optional[int] = ...) -> None: ...

class LogRequest(_message.Message):
    __slots__ = ("number", "name", "offset", "most")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    number: int
    name: str
    offset: int
    most: int
    def __init__(self, number: _Optional[int] = ..., name: _Optional[str] = ..., offset: _Optional[int] = ..., most: _Optional[int] = ...) -> None: ...

class LogReply(_message.Message):
    __slots__ = ("number", "data")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    number: int
    data: bytes
    def __init__(self, number: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
