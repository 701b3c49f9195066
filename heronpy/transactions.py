"""Sinks whose output becomes visible exactly once, together with the checkpoint that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence


class TransactionalSink:
    """Mixin for a bolt that writes to an external system: class Files(TransactionalSink, Bolt).

    Also for a spout whose source needs an acknowledgement of the tuples taken over: the acknowledgement is
    what it writes.

    The engine calls, always between two tuples and in the task's own thread:

    1. `recover(handles)` once, after `initialize`, with the handles in the checkpoint that the task starts
       from; then `begin()`.
    2. `process` for each tuple: write into the open transaction.
    3. `prepare(checkpoint)` at each checkpoint, then `begin()` for what comes next.
    4. `commit(handle)` for each prepared transaction, in order, when the checkpoint is complete. If a
       checkpoint is aborted, its transaction is committed with the next complete checkpoint.

    `commit` must be idempotent: after a crash between 3 and 4 it is not known whether the commit happened,
    so it is repeated. It may also be called in another task of the component, if the task that prepared the
    transaction no longer exists. Together with `reliability = "effectively_once"` every tuple is in exactly
    one committed transaction. Output becomes visible once per checkpoint: `checkpoint.interval`.

    With the other two guarantees no task ever goes back to a checkpoint, so commits do not wait for one:
    every second, and before the task ends, the open transaction is prepared and committed at once. A crash
    discards what was not committed; so with at least once, ack a tuple when its transaction is committed.
    """

    #: unique name of this task in this execution of the topology; set before initialize
    owner = ""

    def begin(self) -> None:
        """Open a transaction: what is written from now on belongs to it."""
        raise NotImplementedError

    def prepare(self, checkpoint: int) -> bytes:
        """Make what was written since `begin` durable, but not visible, and close the transaction.

        Returns a handle: all that another process, perhaps on another machine, needs to commit it. It is
        stored in the checkpoint, so keep it small: a name, not the data. If nothing was written, return b"":
        there is nothing to commit. Also called when the task ends because its component is scaled down, so a
        checkpoint number may repeat: give every transaction a unique name.
        """
        raise NotImplementedError

    def commit(self, handle: bytes) -> None:
        """Make a prepared transaction visible, atomically. Idempotent: a second call does nothing."""
        raise NotImplementedError

    def abort(self) -> None:
        """Discard all uncommitted transactions of this task, open or prepared, of this or an earlier process.

        Leave those of other tasks alone: they may be running, or about to commit a transaction of a task that
        no longer exists. So put `self.owner` into the names.
        """
        raise NotImplementedError

    def recover(self, handles: Sequence[bytes]) -> None:
        """Commit the transactions of the checkpoint that the task starts from, and discard all others.

        `handles` may include those of tasks that no longer exist. A transaction without a handle is in no
        complete checkpoint: its tuples are replayed.
        """
        for handle in handles:
            self.commit(handle)
        self.abort()
