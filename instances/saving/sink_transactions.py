"""The engine's side of a transactional sink: what is prepared, and when it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from heronpy.kernel.trace_points import step
from heronpy.transactions import TransactionalSink

#: key of the handles in the extras of a snapshot
TRANSACTIONS: Final = "transactions"
#: seconds between two commits where tasks never go back to a checkpoint
ROLL: Final = 1.0

_DECODER = msgspec.msgpack.Decoder(list[bytes])


class Transactions:
    """All transactions of one sink that are not committed."""

    def __init__(
        self, sink: TransactionalSink, owner: str, saved: Iterable[Mapping[str, bytes]], *, waits: bool
    ) -> None:
        """`saved` are the extras that the task starts with; with `waits`, commits wait for checkpoints.

        `owner` must be globally unique, except for earlier processes of the same task.
        """
        self._sink = sink
        sink.owner = owner
        self.waits = waits
        self._saved = [handle for extras in saved for handle in decode_handles(extras)]
        #: (checkpoint, handle), oldest first
        self._prepared: list[tuple[int, bytes]] = []
        #: handles that are in no checkpoint yet: they are committed with the first that has them
        self._unsaved: list[bytes] = []
        self._rolled = 0

    def recover(self) -> None:
        """After initialize(): commit or discard what earlier processes left, and open a transaction."""
        self._sink.recover(self._saved)
        step("restore.transactions.recovered")
        self._sink.begin()

    def prepare(self, checkpoint: int) -> bytes:
        """The handles of all transactions to commit when this checkpoint is complete.

        Those of aborted checkpoints are included: their tuples are not replayed.
        """
        self._close(checkpoint)
        self._prepared += [(checkpoint, handle) for handle in self._unsaved]
        self._unsaved = []
        return self._encoded()

    @property
    def uncommitted(self) -> int:
        """Number of prepared transactions that are not committed; empty ones have no handle."""
        return len(self._prepared) + len(self._unsaved)

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is complete: commit its transactions."""
        while self._prepared and self._prepared[0][0] <= checkpoint:
            self._sink.commit(self._prepared[0][1])
            self._prepared.pop(0)
            step("checkpoint.transaction.committed")

    def roll(self) -> None:
        """Without waiting for a checkpoint: commit what was written, and open the next transaction."""
        self._rolled += 1
        self._close(self._rolled)
        while self._unsaved:
            self._sink.commit(self._unsaved[0])
            self._unsaved.pop(0)

    def hand_over(self) -> bytes:
        """The task retires: the handles of all transactions that another task has to commit.

        If the update is rolled back, they are committed here, with the next checkpoint.
        """
        if not self.waits:
            self.roll()
            return b""
        self._close(self._prepared[-1][0] if self._prepared else 0)
        return self._encoded()

    def adopt(self, saved: Iterable[Mapping[str, bytes]]) -> None:
        """Take over the handles of retired tasks: they are committed with the next checkpoint, not before.

        Until then all tasks may have to go back to an earlier checkpoint, and their tuples would be replayed.
        """
        self._unsaved += [handle for extras in saved for handle in decode_handles(extras)]

    def _close(self, checkpoint: int) -> None:
        handle = self._sink.prepare(checkpoint)
        if handle:
            self._unsaved.append(handle)
        step("checkpoint.transaction.prepared")
        self._sink.begin()

    def _encoded(self) -> bytes:
        handles = [*(handle for _, handle in self._prepared), *self._unsaved]
        return msgspec.msgpack.encode(handles) if handles else b""


def decode_handles(extras: Mapping[str, bytes]) -> list[bytes]:
    """The handles in a snapshot, oldest first."""
    found = extras.get(TRANSACTIONS)
    return [] if not found else _DECODER.decode(found)
