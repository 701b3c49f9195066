"""The state tree of a topology: which node is where, and what is in it."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

RUNNING: Final = "RUNNING"
PAUSED: Final = "PAUSED"
#: all input has ended, and all of it has been processed and committed
FINISHED: Final = "FINISHED"

#: an executor's incarnation is shifted by this much; the starts of its children are counted below it
START_BITS: Final = 20


class Tree:
    """Paths below one topology's folder."""

    def __init__(self, topology: str) -> None:
        self.root = f"/{topology}"
        self.execution = f"{self.root}/execution"
        self.definition = f"{self.root}/definition"
        self.packing_plan = f"{self.root}/packing_plan"
        self.physical_plan = f"{self.root}/physical_plan"
        self.live = f"{self.root}/live"
        self.master = f"{self.root}/master"
        self.scheduler = f"{self.root}/scheduler"
        self.containers = f"{self.root}/containers"
        self.clients = f"{self.root}/clients"
        self.requests = f"{self.root}/requests"
        #: what has been saved, and which run is on
        self.checkpoints = f"{self.root}/checkpoints"
        #: requests for a checkpoint now
        self.demands = f"{self.root}/demands"
        #: the checkpoint that a person has chosen to restore
        self.restore = f"{self.root}/restore"
        #: the change of plan that runs, or ran last
        self.update = f"{self.root}/update"
        #: why the scheduler could not do its part of it
        self.update_failure = f"{self.root}/update_failure"
        #: the physical plan that it leads to
        self.next_plan = f"{self.root}/next_plan"
        self.scheduler_pulse = f"{self.root}/scheduler_pulse"
        #: the process that starts the scheduler's again, where container 0 does not
        self.keeper = f"{self.root}/keeper"
        #: what was uploaded for containers on other machines
        self.shipped = f"{self.root}/shipped"
        #: containers that have no room yet, and why
        self.waiting = f"{self.root}/waiting"
        #: exists while the topology is being killed: all its processes end and are not restarted
        self.leaving = f"{self.root}/leaving"

    def stream_manager(self, container: int) -> str:
        return f"{self.containers}/{container}/stream_manager"

    def metrics_manager(self, container: int) -> str:
        return f"{self.containers}/{container}/metrics_manager"

    def executor(self, container: int) -> str:
        return f"{self.containers}/{container}/executor"

    def pulse(self, container: int) -> str:
        return f"{self.containers}/{container}/pulse"

    def given_up(self, container: int) -> str:
        return f"{self.containers}/{container}/given_up"


class Execution(msgspec.Struct, frozen=True):
    """How the topology was submitted: by which user, when, and with which plugins."""

    id: str
    submitted_by: str
    submitted_at: float
    version: str
    packing: str
    scheduler: str
    state: str
    #: whether its containers are on machines that have no checkpoint store in common
    apart: bool = False


class Live(msgspec.Struct, frozen=True):
    """What the topology should be doing; apart from what was submitted."""

    #: RUNNING, PAUSED or FINISHED
    state: str
    #: component, or "" for all of them → config that was given while the topology runs
    config: dict[str, dict[str, Any]] = {}
    #: raised with every write
    number: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """Containers that have no room yet, and why."""

    containers: dict[str, str] = {}


class Registration(msgspec.Struct, frozen=True):
    """A process that connects to others or accepts connections; its public key admits it."""

    public_key: str
    incarnation: int = 0
    endpoint: str = ""
    pid: int = 0
    #: unix socket for clients of the same user on this machine, which need no key; empty if there is none
    local: str = ""


class ChildView(msgspec.Struct, frozen=True):
    """One child of an executor, as the executor sees it."""

    pid: int
    #: running, silent (running, but without heartbeats), waiting for its next start, or given up
    state: Literal["running", "silent", "waiting", "given_up"]
    restarts: int
    #: "exit 1", "signal 9 (killed)", "silent for 31 s, killed", or empty
    last_exit: str
    #: wall-clock second of the last change
    since: float
    #: restarts since it last ran for a quiet time
    streak: int = 0
    #: the newest incarnation that this executor has seen end
    gone: int = 0
    #: the tasks that live in it: its end is theirs; none in a manager
    tasks: tuple[int, ...] = ()


class ExecutorNode(msgspec.Struct, frozen=True):
    """An executor and its children."""

    #: raised at every start of the executor; never goes back while the topology exists
    incarnation: int
    #: 0 when it ended in an orderly way
    pid: int
    children: dict[str, ChildView] = {}
    #: distinguishes it from an equal incarnation in an earlier or later topology of the same name
    token: str = ""

    def holders(self) -> dict[int, ChildView]:
        """Task → the child in which it lives."""
        return {task: child for child in self.children.values() for task in child.tasks}

    @property
    def gone(self) -> int:
        """Children up to this incarnation have ended with their executor."""
        return (self.incarnation if self.pid else self.incarnation + 1) << START_BITS
