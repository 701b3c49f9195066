"""The keys of a topology's and a component's config."""

from __future__ import annotations

from typing import Any


class TopologyReliabilityMode:
    """Values of `topology.reliability.mode`."""

    ATMOST_ONCE = "ATMOST_ONCE"
    ATLEAST_ONCE = "ATLEAST_ONCE"
    EFFECTIVELY_ONCE = "EFFECTIVELY_ONCE"


TOPOLOGY_DEBUG = "topology.debug"
TOPOLOGY_STMGRS = "topology.stmgrs"
TOPOLOGY_MESSAGE_TIMEOUT_SECS = "topology.message.timeout.secs"
TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS = "topology.enable.message.timeouts"
TOPOLOGY_COMPONENT_PARALLELISM = "topology.component.parallelism"
TOPOLOGY_DROPTUPLES_UPON_BACKPRESSURE = "topology.droptuples.upon.backpressure"
TOPOLOGY_MAX_SPOUT_PENDING = "topology.max.spout.pending"
TOPOLOGY_TICK_TUPLE_FREQ_SECS = "topology.tick.tuple.freq.secs"
TOPOLOGY_AUTO_TASK_HOOKS = "topology.auto.task.hooks"
TOPOLOGY_SERIALIZER_CLASSNAME = "topology.serializer.classname"
TOPOLOGY_RELIABILITY_MODE = "topology.reliability.mode"
TOPOLOGY_STATEFUL_CHECKPOINT_INTERVAL_SECONDS = "topology.stateful.checkpoint.interval.seconds"
TOPOLOGY_STATEFUL_START_CLEAN = "topology.stateful.start.clean"

TOPOLOGY_CONTAINER_CPU_REQUESTED = "topology.container.cpu"
TOPOLOGY_CONTAINER_RAM_REQUESTED = "topology.container.ram"
TOPOLOGY_CONTAINER_DISK_REQUESTED = "topology.container.disk"
TOPOLOGY_CONTAINER_MAX_CPU_HINT = "topology.container.max.cpu.hint"
TOPOLOGY_CONTAINER_MAX_RAM_HINT = "topology.container.max.ram.hint"
TOPOLOGY_CONTAINER_MAX_DISK_HINT = "topology.container.max.disk.hint"
TOPOLOGY_CONTAINER_PADDING_PERCENTAGE = "topology.container.padding.percentage"
TOPOLOGY_CONTAINER_RAM_PADDING = "topology.container.ram.padding"
TOPOLOGY_COMPONENT_CPUMAP = "topology.component.cpumap"
TOPOLOGY_COMPONENT_RAMMAP = "topology.component.rammap"
TOPOLOGY_COMPONENT_DISKMAP = "topology.component.diskmap"

TOPOLOGY_NAME = "topology.name"
TOPOLOGY_TEAM_NAME = "topology.team.name"
TOPOLOGY_TEAM_EMAIL = "topology.team.email"
TOPOLOGY_CAP_TICKET = "topology.cap.ticket"
TOPOLOGY_PROJECT_NAME = "topology.project.name"
TOPOLOGY_COMPONENT_OUTPUT_BPS = "topology.component.output.bps"
TOPOLOGY_COMPONENT_OUTPUT_TPS = "topology.component.output.tps"
TOPOLOGY_WORKER_CHILDOPTS = "topology.worker.childopts"
TOPOLOGY_COMPONENT_JVMOPTS = "topology.component.jvmopts"
TOPOLOGY_ADDITIONAL_CLASSPATH = "topology.additional.classpath"

#: ours: how many key groups the keys of a fields grouping are hashed to; fixed at submit
TOPOLOGY_KEY_GROUPS = "topology.key.groups"
#: ours: which tasks share a process, "none" or all those of a "container"
TOPOLOGY_FUSE = "topology.fuse"
#: ours: what is done with a tuple that kills its task, "stop" or "skip", and after how many deaths
TOPOLOGY_POISON = "topology.poison"
TOPOLOGY_POISON_DEATHS = "topology.poison.deaths"

DEFAULT_TOPOLOGY_CONFIG: dict[str, Any] = {
    TOPOLOGY_DEBUG: False,
    TOPOLOGY_STMGRS: 1,
    TOPOLOGY_MESSAGE_TIMEOUT_SECS: 30,
    TOPOLOGY_COMPONENT_PARALLELISM: 1,
    TOPOLOGY_MAX_SPOUT_PENDING: 100,
    TOPOLOGY_RELIABILITY_MODE: TopologyReliabilityMode.ATMOST_ONCE,
    TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS: True,
    TOPOLOGY_POISON_DEATHS: 3,
}
