"""The read model: what `status`, `top` and any other view know of a running topology."""

from __future__ import annotations

import msgspec

from heronpy.kernel.state_transfer import KeptState


class InstanceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One task, as of its last beat."""

    task: int
    component: str
    index: int
    container: int
    kind: str
    #: starting, ready (for a plan to come), running, paused, silent (runs, but gives no sign of life),
    #: stopped (stands still before a tuple that kills it), failed, missing, or unknown when there is no
    #: master to ask
    state: str = "missing"
    #: wall-clock second of the last change of state
    since: float = 0.0
    pid: int = 0
    #: name of the process that it lives in, and of its log; tasks with the same one share it
    process: str = ""
    incarnation: int = 0
    #: times its executor had to start it again
    restarts: int = 0
    #: one line, empty when all is well; points at the user's own line
    error: str = ""
    #: the user's part of the traceback
    traceback: str = ""
    #: what it has been busy with, when that is long: "process() for 12 s"
    busy: str = ""
    emitted: int = 0
    executed: int = 0
    #: tuples acked and failed: by a bolt, or back at their spout
    acked: int = 0
    failed: int = 0
    #: spout tuples that are neither yet
    pending: int = 0
    #: how many there may be before the spout is not asked for more; 0 where nothing limits them
    pending_limit: int = 0
    #: how often its code has failed
    errors: int = 0
    #: tuples a second over the last report
    emit_rate: float = 0.0
    execute_rate: float = 0.0
    #: seconds since a spout last emitted, or a bolt last executed, something
    idle: float = 0.0
    #: mean time in process() or next_tuple() over the last report
    latency_ms: float = 0.0
    #: tuples received and not yet processed
    queue: int = 0
    #: frames that it refused
    rejected: int = 0
    #: share of the last report spent waiting for credit, 0 to 1
    waiting: float = 0.0
    #: tuples that were lost on their way to it, and between it and processes that died: at least, at most
    lost_min: int = 0
    lost_max: int = 0
    #: tuples that it threw away for want of credit, where the topology allows that
    dropped: int = 0
    #: tuples that it kept aside because they kill it, and the one that it refused last, in words
    poisoned: int = 0
    poison: str = ""
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    #: the state that it keeps
    held: KeptState = KeptState()
    #: metrics that the user's code registered
    custom: dict[str, float] = {}

    @property
    def label(self) -> str:
        return f"{self.component}[{self.index}]"


class ContainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One container, as of its last beat."""

    id: int
    #: running, missing, failed (given up), unknown (no master)
    state: str = "missing"
    since: float = 0.0
    endpoint: str = ""
    frames: int = 0
    bytes: int = 0
    #: frames waiting for their destination
    backlog: int = 0
    dropped: int = 0
    #: frames, control messages and connections that its managers refused
    rejected: int = 0


class Backpressure(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is too slow for its emitters, and the tasks that it holds up."""

    culprit: str
    container: int
    #: wall-clock second since which a task has waited for it
    since: float
    seconds: float
    #: the spouts that pause because of it, directly or through bolts
    spouts: tuple[str, ...] = ()
    #: the bolts that wait
    bolts: tuple[str, ...] = ()


class ComponentTime(msgspec.Struct, frozen=True, kw_only=True):
    """How far event time has come in one component that watermarks go through."""

    component: str
    #: seconds since 1970; None while nothing is known, or when it has ended
    low_watermark: float | None = None
    #: seconds behind the time of day
    lag: float | None = None
    #: whether all of its input is over
    ended: bool = False
    #: the task that keeps it back, and why if that is known: a split, or what a component says
    held_by: str = ""


class CheckpointStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a topology has saved of itself, and how often it had to begin again from that."""

    #: the newest complete one, 0 for none yet: number, wall-clock second, size, how long it took
    id: int = 0
    at: float = 0.0
    bytes: int = 0
    seconds: float = 0.0
    #: how many complete ones are kept
    kept: int = 0
    #: seconds from one to the next, 0 for none but on demand
    interval: float = 0.0
    #: whether nothing has changed since the newest, so that there is no need for another
    unchanged: bool = False
    #: the one that is being taken, 0 for none, for how many seconds by now, and whose part is not stored yet
    running: int = 0
    running_for: float = 0.0
    waits_for: tuple[str, ...] = ()
    #: the newest one that was given up, and why
    aborted: int = 0
    aborted_because: str = ""
    #: effectively once: number of the run, and of the restores that led to it
    run: int = 0
    restores: int = 0
    #: wall-clock second of the last restore, and its cause
    restored_at: float = 0.0
    restored_because: str = ""
    #: why the topology stands still until a person has decided what it begins with
    undecided: str = ""
    #: how it last went back further than to the newest complete checkpoint, and at which wall-clock second
    fell_back: str = ""
    fell_back_at: float = 0.0


class UpdateStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The change of plan that is on its way."""

    epoch: int
    #: scale or restart
    kind: str
    #: as in kernel/tree/update.py
    phase: str
    #: component → instances, as asked for
    wanted: dict[str, int] = {}
    #: containers that are started again
    containers: tuple[int, ...] = ()
    requested_by: str = ""
    requested_at: float = 0.0
    #: components whose input has been cut so far
    cut: tuple[str, ...] = ()
    #: the tasks it waits for, and what each is doing
    waits_for: tuple[str, ...] = ()
    #: why it is being rolled back
    reason: str = ""


class TopologyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """All of one topology at one moment."""

    name: str
    #: STARTING, RUNNING, PAUSED, DEGRADED (something that ran does not), FAILED (something was given up),
    #: UNREACHABLE (no master)
    state: str
    #: one line with what is missing or wrong; empty if nothing is
    reason: str = ""
    #: wall-clock second of the answer, on the master's clock as all others here; 0 without a master
    at: float = 0.0
    submitted_at: float = 0.0
    submitted_by: str = ""
    running_since: float = 0.0
    epoch: int = 0
    packing: str = ""
    scheduler: str = ""
    reliability: str = ""
    #: where a person can look, as the scheduler says: name to address
    links: dict[str, str] = {}
    #: control messages and connections that the Topology Master refused
    rejected: int = 0
    containers: tuple[ContainerStatus, ...] = ()
    instances: tuple[InstanceStatus, ...] = ()
    #: what has lasted for more than a second
    backpressure: tuple[Backpressure, ...] = ()
    #: of the components that watermarks go through, upstream ones first
    event_time: tuple[ComponentTime, ...] = ()
    #: of all instances together; at least once, tuples with an id come again
    lost_min: int = 0
    lost_max: int = 0
    #: None where the master does not answer
    checkpoints: CheckpointStatus | None = None
    #: None when there is none
    update: UpdateStatus | None = None
    #: nodes of the state tree that are damaged, or were, and what comes of it: a line each
    damage: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> TopologyStatus:
        return msgspec.json.decode(data, type=cls)
