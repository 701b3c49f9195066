"""One task's part in checkpoints: when it takes a snapshot, and what it does when one is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from heronpy.instances.acking.roots import Over
from heronpy.instances.control_events import ControlEvents
from heronpy.instances.saving.pending_rows import ROWS, encode_unsent
from heronpy.instances.saving.sink_transactions import TRANSACTIONS, Transactions
from heronpy.instances.saving.state.encoding import encode_whole
from heronpy.instances.saving.state.saved_watermarks import WATERMARKS, encode_watermarks
from heronpy.instances.saving.state.state_loader import NOTES, Saved
from heronpy.instances.saving.state.state_saver import Kind, Saver
from heronpy.instances.saving.task_end import ENDED, TaskEnd
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Stored
from heronpy.kernel.trace_points import step
from heronpy.state import KeepsNotes, StatefulComponent

if TYPE_CHECKING:
    from heronpy.bolt import Bolt
    from heronpy.instances.task.build import TaskWiring
    from heronpy.spout import Spout


class SavingSettings(NamedTuple):
    """How a task is saved, and what it begins with."""

    #: opens the checkpoint store, in the thread that writes to it
    store: Callable[[], CheckpointStore]
    #: of the names of all objects
    prefix: str
    #: called with what has been stored, from any thread
    on_stored: Callable[[Stored, Kind], None]
    saved: Saved | None = None
    #: whether the rows that were pending then have not been sent since
    rows: bool = True
    #: whether nothing has happened since `saved`, or all of it is undone: a run, or a planned restart
    exact: bool = False


class Snapshots:
    """Spouts begin when the Topology Master starts a checkpoint, bolts when all barriers have arrived."""

    def __init__(
        self,
        component: Spout | Bolt,
        parts: TaskWiring,
        saver: Saver,
        run: int,
        transactions: Transactions | None,
        over: Callable[[Over], None] | None,
        end: TaskEnd,
    ) -> None:
        """`over` is a spout's: it calls ack()."""
        self._end = end
        self._component = component
        self._parts = parts
        self._saver = saver
        self._run = run
        self._transactions = transactions
        self._over = over
        self._node = Checkpoints()
        self._seen = self._node
        self._begun = 0
        self._complete = 0
        #: the last checkpoint that was begun, and how much had happened by then
        self._cut = (0, 0)
        self.work = saver.work

    def hear(self, news: ControlEvents) -> None:
        if news.checkpoints is not None:
            self._node = news.checkpoints
            self._parts.inflow.alignment.give_up(self._node.aborted)

    def act(self) -> None:
        node = self._node
        if node is self._seen:
            return
        self._seen = node
        if node.run != self._run:
            # A run that this process is not in, because another one has replaced it: not its checkpoints.
            return
        newest = node.complete[-1].id if node.complete else 0
        if newest > self._complete:
            self._complete = newest
            self._on_complete(newest)
        if self._over is not None and node.started > max(newest, node.aborted, self._begun):
            self.begin(node.started)

    def begin(self, checkpoint: int) -> None:
        """Cut here: send what credit allows, then the barriers, and save the pending rows with the state."""
        parts = self._parts
        self._begun = checkpoint
        if isinstance(self._component, StatefulComponent):
            self._component.pre_save(str(checkpoint))
        extras: dict[str, bytes] = {}
        transactions = 0
        if self._transactions is not None:
            handles = self._transactions.prepare(checkpoint)
            transactions = self._transactions.uncommitted
            if handles:
                extras[TRANSACTIONS] = handles
        parts.outbox.flush()
        unsent = encode_unsent(parts.outbox, parts.context.plan)
        if unsent is not None:
            extras[ROWS] = unsent
        worked = parts.input_time.saved()
        if worked:
            extras[WATERMARKS] = encode_watermarks(worked)
        extras |= encoded_notes(self._component)
        if self._end.reached:
            extras[ENDED] = b"1"
            self._end.on_snapshot(checkpoint)
        if parts.awaiting is not None:
            parts.awaiting.cut(checkpoint)
        parts.outbox.send_barriers(checkpoint)
        step("checkpoint.barrier.sent")
        self._cut = (checkpoint, parts.counters.activity())
        self._saver.snapshot(checkpoint, self._run, extras, transactions)

    def unchanged_since(self) -> int:
        """The checkpoint since which the task has not changed; 0 if it may have. Safe from any thread.

        A bolt changes only when it is called. next_tuple of a spout is called all the time, and may move its
        position without emitting.
        """
        checkpoint, activity = self._cut
        parts = self._parts
        quiet = activity == parts.counters.activity()
        moved = self._over is not None and not parts.state.surely_unchanged()
        return checkpoint if quiet and not moved else 0

    def _on_complete(self, checkpoint: int) -> None:
        parts = self._parts
        parts.state.forget_before(checkpoint)
        if parts.awaiting is not None and self._over is not None:
            self._over(parts.awaiting.complete(checkpoint, parts.clock()))
        if self._transactions is not None:
            self._transactions.complete(checkpoint)
        self._end.on_complete(checkpoint)


def encoded_notes(component: Spout | Bolt) -> dict[str, bytes]:
    """What only the same task is to know after a restart, as an extra; empty if it has no such thing."""
    notes = component.notes() if isinstance(component, KeepsNotes) else None
    return {} if notes is None else {NOTES: encode_whole(notes)}
