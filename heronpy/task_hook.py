"""Hooks into a task: called for every emit, ack and fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heronpy.tuple import Tuple

if TYPE_CHECKING:
    from heronpy.context import TopologyContext


class EmitInfo(NamedTuple):
    """A tuple was emitted."""

    values: Sequence[Any]
    stream_id: str
    task_id: int
    out_tasks: Sequence[int]


class SpoutAckInfo(NamedTuple):
    """A spout's tuple is fully processed."""

    message_id: Any
    spout_task_id: int
    complete_latency_ms: float


class SpoutFailInfo(NamedTuple):
    """A spout's tuple failed or timed out."""

    message_id: Any
    spout_task_id: int
    fail_latency_ms: float


class BoltExecuteInfo(NamedTuple):
    """A bolt has processed a tuple."""

    heron_tuple: Tuple
    executing_task_id: int
    execute_latency_ms: float


class BoltAckInfo(NamedTuple):
    """A bolt has acked a tuple."""

    heron_tuple: Tuple
    acking_task_id: int
    process_latency_ms: float


class BoltFailInfo(NamedTuple):
    """A bolt has failed a tuple."""

    heron_tuple: Tuple
    failing_task_id: int
    fail_latency_ms: float


class ITaskHook:
    """Named by class path in `topology.auto.task.hooks`, or added with `context.add_task_hook`."""

    def prepare(self, conf: dict[str, Any], context: TopologyContext) -> None:
        """Called after the component's initialize."""

    def clean_up(self) -> None:
        """Called before the component is closed."""

    def emit(self, emit_info: EmitInfo) -> None:
        """Called for every emitted tuple."""

    def spout_ack(self, spout_ack_info: SpoutAckInfo) -> None:
        """Called for every tuple acked to a spout."""

    def spout_fail(self, spout_fail_info: SpoutFailInfo) -> None:
        """Called for every tuple failed to a spout."""

    def bolt_execute(self, bolt_execute_info: BoltExecuteInfo) -> None:
        """Called for every tuple that a bolt has processed."""

    def bolt_ack(self, bolt_ack_info: BoltAckInfo) -> None:
        """Called for every tuple that a bolt acks."""

    def bolt_fail(self, bolt_fail_info: BoltFailInfo) -> None:
        """Called for every tuple that a bolt fails."""
