"""What a pipeline or a bolt writes to: a sink, and a writer for each task."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

#: what a sink takes
T_contra = TypeVar("T_contra", contravariant=True)

#: how often a record is visible after crashes: once; once, because writing it again changes nothing; perhaps
#: more than once
Mode = Literal["transactional", "idempotent", "at_least_once"]


class Writer(abc.ABC, Generic[T_contra]):
    """Writes the records of one task. Made by `Sink.open`, in the task.

    The engine calls, always in the task's own thread: `recover(handles)` once; then `write` for each batch,
    `prepare(checkpoint)` at each checkpoint, and `commit(handle)` for each prepared transaction, in order,
    when the checkpoint is complete. What is written after `prepare` belongs to the next transaction.

    Without a checkpoint to wait for, `prepare` and `commit` follow each other every second and at the end.
    """

    @abc.abstractmethod
    def write(self, records: Sequence[T_contra]) -> None:
        """Take a batch. May block: back-pressure does the rest."""

    def flush(self) -> None:
        """Make what was written safe, unless the sink is transactional: then `prepare` and `commit` do."""

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002 - for those that name files by it
        """Make what was written durable but not visible; returns all that another process needs to commit it.

        b"" if there is nothing to commit. A number may repeat, so every transaction has a unique name.
        """
        self.flush()
        return b""

    def verify(self, handle: bytes) -> None:
        """Raise unless what is to be committed is there.

        Called before the first commit where other machines have prepared it. There, what is missing has not
        been committed before.
        """

    def commit(self, handle: bytes) -> None:
        """Make a prepared transaction visible, atomically. Idempotent, and perhaps in another task."""

    def abort(self) -> None:
        """Discard all uncommitted transactions of this owner, open or prepared, and no other owner's."""

    def recover(self, handles: Sequence[bytes]) -> None:
        """Commit the transactions of the checkpoint that the task starts from, and discard all others."""
        for handle in handles:
            self.commit(handle)
        self.abort()

    def close(self) -> None:
        """Let go of connections and files; what is not prepared is discarded. May be called twice."""


class Sink(abc.ABC, Generic[T_contra]):
    """Where records go, as plain data: it never connects by itself."""

    #: what a step that writes it is called, unless it is given a name
    name: str = "sink"
    mode: Mode = "at_least_once"
    #: whether a record is added, or replaces the one with its key; only the latter can take back a result
    changes: Literal["append", "upsert"] = "append"

    def check(self) -> None:
        """At submit: is everything there and reachable? If not, a UserError that says what to do."""

    @abc.abstractmethod
    def open(self, owner: str) -> Writer[T_contra]:
        """A writer for a task; `owner` is the task's unique name in this execution of the topology."""
