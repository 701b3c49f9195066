"""What a component can learn about its place in the running topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from heronpy.arguments import require
from heronpy.definition import StreamId
from heronpy.kernel.checkpoints.object_names import component_prefix
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.metrics import IMetric
from heronpy.stream import GroupingType
from heronpy.task_hook import (
    BoltAckInfo,
    BoltExecuteInfo,
    BoltFailInfo,
    EmitInfo,
    ITaskHook,
    SpoutAckInfo,
    SpoutFailInfo,
)
from heronpy.tuple import Tuple

_GROUPING_TYPES = {
    "shuffle": GroupingType.SHUFFLE,
    "fields": GroupingType.FIELDS,
    "all": GroupingType.ALL,
    "global": GroupingType.LOWEST,
    "none": GroupingType.NONE,
    "direct": GroupingType.DIRECT,
    "custom": GroupingType.CUSTOM,
    "local_or_shuffle": GroupingType.LOCAL_OR_SHUFFLE,
}


class TopologyContext:
    """Given to `initialize`. The `invoke_hook_…` methods are the engine's."""

    def __init__(self, plan: PhysicalPlan, task_id: int, config: dict[str, Any]) -> None:
        #: the plan in force; replaced when the topology is scaled
        self.plan = plan
        self.task_id = task_id
        self.config = config
        self.component_id = plan.task(task_id).component
        #: name → (metric, seconds between two reports)
        self.metrics: dict[str, tuple[IMetric, float]] = {}
        self.task_hooks: list[ITaskHook] = []
        #: opens the topology's checkpoint store, if it has one
        self.store: Callable[[], CheckpointStore] | None = None

    def __repr__(self) -> str:
        label = self.plan.task(self.task_id).label
        return f"<TopologyContext of {label}, task {self.task_id} of {self.plan.topology}>"

    def get_task_id(self) -> int:
        """The id of this task, unique in the topology."""
        return self.task_id

    def get_component_id(self) -> str:
        """The name of this component."""
        return self.component_id

    def get_cluster_config(self) -> dict[str, Any]:
        """The topology's config with this component's on top; values have the types they were given with."""
        return self.config

    def get_topology_name(self) -> str:
        """The name of the topology."""
        return self.plan.topology

    def get_topology_pex_path(self) -> str:
        """Where the user's code is."""
        return self.plan.logical.source.file

    def get_sources(self, component_id: str) -> dict[StreamId, GroupingType] | None:
        """The inputs of a component with their groupings; None for an unknown component."""
        for component in self.plan.logical.components:
            if component.name == component_id:
                return {
                    StreamId(edge.stream, edge.component): _GROUPING_TYPES[edge.grouping.kind]
                    for edge in component.inputs
                }
        return None

    def get_this_sources(self) -> dict[StreamId, GroupingType]:
        """The inputs of this component with their groupings."""
        return self.get_sources(self.component_id) or {}

    def get_component_tasks(self, component_id: str) -> list[int]:
        """The task ids of a component, lowest first."""
        return [task.id for task in self.plan.tasks_of(component_id)]

    def open_store(self) -> CheckpointStore:
        """Open the topology's checkpoint store, for the component's own objects; close it after use.

        Object names begin with `object_prefix` and a slash. A class that writes objects sets
        `keeps_objects = True`: they survive a restart, also one from a checkpoint, and are deleted when the
        topology is killed.
        """
        if self.store is None:
            msg = f"{self.component_id!r} needs the checkpoint store, and there is none here"
            raise TopologyError(msg, hint="TopologyTest(…, settings={'checkpoint.path': str(tmp_path)})")
        return self.store()

    @property
    def object_prefix(self) -> str:
        """Beginning of the names of the component's own objects in the checkpoint store."""
        return component_prefix(self.plan.topology, self.component_id)

    def register_metric(self, name: str, metric: IMetric, time_bucket_in_sec: float) -> None:
        """Register a metric, reported every so many seconds."""
        if name in self.metrics:
            msg = f"a metric named {name!r} is registered already"
            raise RuntimeError(msg)
        self.metrics[name] = (metric, time_bucket_in_sec)

    def add_task_hook(self, task_hook: ITaskHook) -> None:
        """Add a hook; it is called from now on."""
        require(task_hook, ITaskHook, "a task hook must be an ITaskHook")
        self.task_hooks.append(task_hook)

    def invoke_hook_prepare(self) -> None:
        for hook in self.task_hooks:
            hook.prepare(self.config, self)

    def invoke_hook_cleanup(self) -> None:
        for hook in self.task_hooks:
            hook.clean_up()

    def invoke_hook_emit(self, values: Sequence[Any], stream_id: str, out_tasks: Sequence[int]) -> None:
        info = EmitInfo(values, stream_id, self.task_id, out_tasks)
        for hook in self.task_hooks:
            hook.emit(info)

    def invoke_hook_spout_ack(self, message_id: Any, complete_latency_ms: float) -> None:
        info = SpoutAckInfo(message_id, self.task_id, complete_latency_ms)
        for hook in self.task_hooks:
            hook.spout_ack(info)

    def invoke_hook_spout_fail(self, message_id: Any, fail_latency_ms: float) -> None:
        info = SpoutFailInfo(message_id, self.task_id, fail_latency_ms)
        for hook in self.task_hooks:
            hook.spout_fail(info)

    def invoke_hook_bolt_execute(self, heron_tuple: Tuple, execute_latency_ms: float) -> None:
        info = BoltExecuteInfo(heron_tuple, self.task_id, execute_latency_ms)
        for hook in self.task_hooks:
            hook.bolt_execute(info)

    def invoke_hook_bolt_ack(self, heron_tuple: Tuple, process_latency_ms: float) -> None:
        info = BoltAckInfo(heron_tuple, self.task_id, process_latency_ms)
        for hook in self.task_hooks:
            hook.bolt_ack(info)

    def invoke_hook_bolt_fail(self, heron_tuple: Tuple, fail_latency_ms: float) -> None:
        info = BoltFailInfo(heron_tuple, self.task_id, fail_latency_ms)
        for hook in self.task_hooks:
            hook.bolt_fail(info)
