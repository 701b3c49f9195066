"""The engine's side of a transactional sink: what is prepared, and when it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from heronpy.kernel.steps import step
from heronpy.transactions import TransactionalSink

#: where among the extras of a snapshot the handles lie
TRANSACTIONS: Final = "transactions"

_DECODER = msgspec.msgpack.Decoder(list[bytes])


class Transactions:
    """All transactions of one sink that are not committed."""

    def __init__(self, sink: TransactionalSink, saved: Iterable[Mapping[str, bytes]] = ()) -> None:
        """`saved` are the extras of what the task begins with."""
        self._sink = sink
        self._saved = [handle for extras in saved for handle in decode_handles(extras)]
        #: (checkpoint, handle), oldest first
        self._prepared: list[tuple[int, bytes]] = []

    def recover(self) -> None:
        """After initialize(): settle what earlier lives have left, and open the first transaction."""
        self._sink.recover(self._saved)
        step("restore.transactions.recovered")
        self._sink.begin()

    def prepare(self, checkpoint: int) -> bytes:
        """The handles of all that is to be committed when this checkpoint is complete.

        Those of checkpoints that were given up are among them: their tuples do not come again.
        """
        self._prepared.append((checkpoint, self._sink.prepare(checkpoint)))
        step("checkpoint.transaction.prepared")
        self._sink.begin()
        return msgspec.msgpack.encode([handle for _, handle in self._prepared])

    def adopt(self, saved: Iterable[Mapping[str, bytes]], checkpoint: int) -> None:
        """Take over what tasks that are no more have prepared; to be committed with this checkpoint."""
        self._prepared += [(checkpoint, handle) for extras in saved for handle in decode_handles(extras)]

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is complete: commit all that it has."""
        while self._prepared and self._prepared[0][0] <= checkpoint:
            self._sink.commit(self._prepared[0][1])
            self._prepared.pop(0)
            step("checkpoint.transaction.committed")


def decode_handles(extras: Mapping[str, bytes]) -> list[bytes]:
    """The handles in a snapshot, oldest first."""
    found = extras.get(TRANSACTIONS)
    return [] if found is None else _DECODER.decode(found)
