"""Sinks whose output becomes visible exactly once, together with the checkpoint that it belongs to."""

from __future__ import annotations

from collections.abc import Sequence


class TransactionalSink:
    """Mixed into a bolt that writes to the outside: class Files(TransactionalSink, Bolt).

    Or into a spout whose source wants to hear what has been taken over: that is what it writes then.

    The engine calls, always between two tuples and in the task's own thread:

    1. `recover(handles)` once, after `initialize`, with what the checkpoint has that the task begins with;
       then `begin()`.
    2. `process` for each tuple: write into the open transaction.
    3. `prepare(checkpoint)` at each checkpoint, then `begin()` for what comes next.
    4. `commit(handle)` for each prepared transaction, in order, when the checkpoint is complete. If a
       checkpoint is given up, its transaction is committed with the next one that is complete.

    When a process dies between 3 and 4, nobody knows which of the two happened last; so `commit` may come
    again for what is committed, and is then to do nothing. It may also come from another task of the
    component, if the one that prepared it is no more. Together with `reliability = "effectively_once"`
    every tuple is in exactly one transaction that is committed. Output shows up as often as there are
    checkpoints: `checkpoint.interval`.

    With the other two guarantees nobody ever goes back, so there is nothing to wait for: every second, and
    before the task ends, what was written is prepared and committed at once. What a task that dies has not
    committed is discarded; so at least once, ack a tuple when its transaction is committed.
    """

    #: names this task in this execution of the topology, and no other ever; set before initialize
    owner = ""

    def begin(self) -> None:
        """Open a transaction: what is written from now on belongs to it."""
        raise NotImplementedError

    def prepare(self, checkpoint: int) -> bytes:
        """Make what was written since `begin` durable, but not visible, and close the transaction.

        Returns a handle: whatever another process needs to commit it, perhaps on another machine. It is
        stored in the checkpoint, so keep it small: a name, not the data. If nothing was written, return b"":
        there is nothing to commit. A task that ends because its component is scaled down is asked as well,
        and a number may come twice: give every transaction a name of its own.
        """
        raise NotImplementedError

    def commit(self, handle: bytes) -> None:
        """Make a prepared transaction visible, wholly. Nothing happens if it is so already."""
        raise NotImplementedError

    def abort(self) -> None:
        """Discard whatever this task has left that is not committed: opened or prepared, by any process.

        Only what is the task's own: others of the component may be at work, and may be about to commit what
        a task has left that is no more. So give things names with `self.owner` in them.
        """
        raise NotImplementedError

    def recover(self, handles: Sequence[bytes]) -> None:
        """Commit what belongs to the checkpoint that the task begins with, and discard everything else.

        `handles` may also be those of a task that is no more. All that they do not name was written by a
        life that never reached a complete checkpoint: its tuples come again.
        """
        for handle in handles:
            self.commit(handle)
        self.abort()
