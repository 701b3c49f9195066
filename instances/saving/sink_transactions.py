"""The engine's side of a transactional sink: what is prepared, and when it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from heronpy.kernel.trace_points import step
from heronpy.transactions import TransactionalSink

#: where among the extras of a snapshot the handles lie
TRANSACTIONS: Final = "transactions"
#: seconds between two commits where nobody goes back to a checkpoint
ROLL: Final = 1.0

_DECODER = msgspec.msgpack.Decoder(list[bytes])


class Transactions:
    """All transactions of one sink that are not committed."""

    def __init__(
        self, sink: TransactionalSink, owner: str, saved: Iterable[Mapping[str, bytes]], *, waits: bool
    ) -> None:
        """`saved` are the extras of what the task begins with; it `waits` for checkpoints with its commits.

        Nobody else in the world may be called `owner`, but for earlier lives of the same task.
        """
        self._sink = sink
        sink.owner = owner
        self.waits = waits
        self._saved = [handle for extras in saved for handle in decode_handles(extras)]
        #: (checkpoint, handle), oldest first
        self._prepared: list[tuple[int, bytes]] = []
        #: those that no checkpoint has yet: it takes one that does to commit them
        self._unsaved: list[bytes] = []
        self._rolled = 0

    def recover(self) -> None:
        """After initialize(): settle what earlier lives have left, and open the first transaction."""
        self._sink.recover(self._saved)
        step("restore.transactions.recovered")
        self._sink.begin()

    def prepare(self, checkpoint: int) -> bytes:
        """The handles of all that is to be committed when this checkpoint is complete.

        Those of checkpoints that were given up are among them: their tuples do not come again.
        """
        self._close(checkpoint)
        self._prepared += [(checkpoint, handle) for handle in self._unsaved]
        self._unsaved = []
        return self._encoded()

    @property
    def uncommitted(self) -> int:
        """How many there are with something in them."""
        return len(self._prepared) + len(self._unsaved)

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is complete: commit all that it has."""
        while self._prepared and self._prepared[0][0] <= checkpoint:
            self._sink.commit(self._prepared[0][1])
            self._prepared.pop(0)
            step("checkpoint.transaction.committed")

    def roll(self) -> None:
        """Where nothing is waited for: commit what was written, and go on."""
        self._rolled += 1
        self._close(self._rolled)
        while self._unsaved:
            self._sink.commit(self._unsaved[0])
            self._unsaved.pop(0)

    def hand_over(self) -> bytes:
        """The task retires: the handles of all that somebody else is to commit.

        If nothing comes of it, they are committed here, with the next checkpoint.
        """
        if not self.waits:
            self.roll()
            return b""
        self._close(self._prepared[-1][0] if self._prepared else 0)
        return self._encoded()

    def adopt(self, saved: Iterable[Mapping[str, bytes]]) -> None:
        """What tasks have handed over that retired: committed with the next checkpoint, not before.

        Until then everybody may have to go back to one from before, and the tuples in it come again.
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
