"""The end of a task: all its input has been processed, and all of it is committed.

A spout ends when its component has called finish() and no tuple that it tracks is pending. A bolt ends when
all its emitters have: the signal EndOfInput follows their rows, so all input has been processed by then. The
heartbeat has the level that a task has reached. When all tasks have processed everything, the Topology Master
takes a last checkpoint where commits wait for one; when all is committed, the topology is FINISHED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heronpy.instances.user_metrics import sample_metrics
from heronpy.kernel.flow.signals import EndOfInput
from heronpy.kernel.protocol.ending import Ending

if TYPE_CHECKING:
    from heronpy.bolt import Bolt
    from heronpy.instances.input.inflow import QueuedEnd
    from heronpy.instances.saving.sink_transactions import Transactions
    from heronpy.instances.task.build import TaskWiring
    from heronpy.spout import Spout

#: key in the extras of a snapshot: the task had ended when it was taken
ENDED: Final = "ended"


class TaskEnd:
    """Whether one task has ended."""

    def __init__(
        self,
        component: Spout | Bolt,
        parts: TaskWiring,
        transactions: Transactions | None,
        *,
        waits: bool,
        restored: bool,
    ) -> None:
        """`waits`: commits and acks wait for checkpoints.

        `restored`: the snapshot that the task begins with was taken after end_of_input(), which is not called
        again unless there is more input.
        """
        self._component = component
        self._parts = parts
        self._transactions = transactions
        #: how many tuples had been processed at the last call of end_of_input()
        self._called_at = self._processed if restored else None
        self.reached = False
        #: the first checkpoint that was begun after the end, and whether it is complete
        self._saved_in = 0
        self._committed = not waits

    def on_end(self, end: QueuedEnd) -> None:
        """An emitter of this bolt has ended."""
        self._parts.inflow.take_end(end)
        self.look()

    def look(self) -> None:
        """Called also after a change of plan: tasks that had not ended may be gone."""
        if self._parts.inflow.has_ended and not (self.reached and self._called_at == self._processed):
            self.reach()

    @property
    def over(self) -> bool:
        """Whether nothing is emitted any more, as it stands."""
        return self.reached and (self._parts.inflow.is_source or self._parts.inflow.has_ended)

    def reach(self) -> None:
        """All input has been processed: let the component emit what it holds, then pass the end on."""
        if self._called_at != self._processed:
            self._called_at = self._processed
            self._parts.counters.other_calls += 1
            end_of_input = getattr(self._component, "end_of_input", None)
            if end_of_input is not None:
                end_of_input()
            for name, (metric, _) in self._parts.context.metrics.items():
                sample_metrics(name, metric, self._parts.counters.custom)  # totals are taken from here on
        if self._transactions is not None and not self._transactions.waits:
            self._transactions.roll()
        if self._parts.acks is not None:
            self._parts.acks.flush()
        self._parts.outbox.following.follow(EndOfInput())
        self.reached = True

    def on_snapshot(self, checkpoint: int) -> None:
        """A snapshot is being taken."""
        if self.reached and not self._saved_in:
            self._saved_in = checkpoint

    def on_complete(self, checkpoint: int) -> None:
        """A checkpoint is complete, and what waited for it has been committed and acked."""
        if 0 < self._saved_in <= checkpoint:
            self._committed = True

    @property
    def _processed(self) -> int:
        return sum(self._parts.counters.executed.values())

    @property
    def level(self) -> Ending:
        if not self.over or not self._parts.outbox.settling.idle:
            return Ending.NOT_YET
        return Ending.COMMITTED if self._committed else Ending.PROCESSED
