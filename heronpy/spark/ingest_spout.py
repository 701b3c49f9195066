"""Emits the rows that Spark has written for the topology, and marks batches that have been taken over."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from heronpy.kernel.errors import ObjectMissing
from heronpy.kernel.formats import HANDLE
from heronpy.sinks.files import with_given
from heronpy.spark import schema as schemas
from heronpy.spark.arrow_stream import from_stream
from heronpy.spark.batches import (
    INGEST,
    PIECES,
    SPLITS,
    Batch,
    Piece,
    finish,
    marked,
    read_manifest,
    take_over,
    waiting,
    withdraw,
)
from heronpy.spark.shelf import Shelf
from heronpy.spec import HeronComponentSpec
from heronpy.spout import Spout
from heronpy.stream import Stream
from heronpy.transactions import TransactionalSink

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: splits unless the topology wants others: as many tasks can share the work
_SPLITS = 16
#: rows that one call of next_tuple emits
_ROWS = 256
#: seconds between two looks at what there is
_LOOK = 0.1


class _Handle(msgspec.Struct):
    #: where the batches are: a topology that begins with another one's checkpoint finds them there
    prefix: str
    #: query, number, and the pieces that are over
    over: list[tuple[str, int, list[Piece]]]


class _Reading:
    """One split's share of a batch, from some row on."""

    def __init__(self, shelf: Shelf, batch: Batch, pieces: list[Piece], begin: int) -> None:
        self.batch = batch
        self.pieces = pieces
        #: rows behind us, those of an earlier life included
        self.row = begin
        self._rows = _rows(shelf, pieces, begin)

    def take(self, most: int) -> list[tuple[Any, ...]]:
        taken = list(itertools.islice(self._rows, most))
        self.row += len(taken)
        return taken


class IngestSpout(TransactionalSink, Spout):
    """Emits every row that Spark writes to it: `df.writeStream.format("heron")`, or `df.write…`.

    Its outputs are the columns of `schema`. Batches of one query are emitted in their order by each split;
    a batch is taken over, and Spark may forget it, when a checkpoint that has all of its rows is complete.
    """

    SCHEMA = "ingestspout.schema"
    SPLITS = "ingestspout.splits"

    #: what Spark writes outlives a restart from a checkpoint
    keeps_objects = True

    _shelf: Shelf

    @classmethod
    def spec(
        cls,
        name: str | None = None,
        par: int = 1,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
        *,
        schema: Any = None,
        splits: int | None = None,
    ) -> HeronComponentSpec:
        """`schema` is as for a SegmentSink. At most `splits` tasks (16) have something to do."""
        given = {cls.SCHEMA: schemas.encoded(schema), cls.SPLITS: splits}
        merged = with_given(config, given)
        outputs = schemas.names(merged[cls.SCHEMA]) if merged and merged.get(cls.SCHEMA) else []
        return super().spec(name, par, merged, [*outputs, *(optional_outputs or ())])

    @classmethod
    def splits(cls, config: dict[str, Any]) -> int:
        """The parts that a batch is divided into, for tasks to share."""
        return int(config.get(cls.SPLITS, _SPLITS))

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """A subclass that overrides `initialize` must call this one."""
        component = context.get_component_id()
        schema = schemas.declared(config, self.SCHEMA, component)
        self._count = type(self).splits(config)
        self._shelf = Shelf(context.open_store(), f"{context.object_prefix}/{INGEST}")
        self._shelf.write(SPLITS, str(self._count).encode())
        schemas.keep(self._shelf, schema, repr(component))
        mode = context.plan.logical.reliability
        #: positions are kept with a checkpoint only where all tasks go back to it together
        self._saved = mode == "effectively_once"
        self._tracked = mode == "at_least_once"
        self._memory: dict[str, dict[str, list[int]]] = {}
        self._manifests: dict[Batch, list[Piece]] = {}
        self._present: set[str] = set()
        self._look_at = 0.0
        self._readings: dict[str, _Reading] = {}
        #: the query whose batch each split had last
        self._last: dict[str, str] = {}
        self._turn = 0
        #: pieces whose rows have all been emitted, and acked where that matters
        self._over: list[tuple[str, int, list[Piece]]] = []
        self._unacked: dict[Any, Sequence[Any]] = {}
        #: of each reading that is not over, how many rows are not acked
        self._pending: dict[tuple[Batch, str], int] = {}
        self._emitted: dict[tuple[Batch, str], _Reading] = {}
        self._failed: list[Any] = []

    def next_tuple(self) -> None:
        if self._failed:
            tup_id = self._failed.pop()
            self.emit(self._unacked[tup_id], tup_id)
            return
        if time.monotonic() >= self._look_at:
            self._look()
        splits: tuple[str, ...] = self.splits  # type: ignore[assignment] # the engine's tuple hides the method
        for step in range(len(splits)):
            split = splits[(self._turn + step) % len(splits)]
            reading = self._readings.get(split) or self._next(split)
            if reading is not None:
                self._turn += step + 1
                self._readings[split] = reading
                self._emit_some(split, reading)
                return

    def on_plan_change(self, context: TopologyContext) -> None:  # noqa: ARG002
        """Splits may have gone, and others come, with their positions."""
        self._readings.clear()
        self._look_at = 0.0

    def ack(self, tup_id: Any) -> None:
        if self._unacked.pop(tup_id, None) is None:
            return
        split, query, number, _ = tup_id
        key = Batch(query, number), split
        self._pending[key] -= 1
        self._settle(key)

    def fail(self, tup_id: Any) -> None:
        if tup_id in self._unacked:
            self._failed.append(tup_id)

    def begin(self) -> None:
        """Nothing is to be opened."""

    def prepare(self, checkpoint: int) -> bytes:  # noqa: ARG002
        over, self._over = self._over, []
        return HANDLE.encode(_Handle(self._shelf.prefix, over)) if over else b""

    def commit(self, handle: bytes) -> None:
        named = HANDLE.decode(handle, _Handle, "a transaction of an IngestSpout")
        shelf = Shelf(self._shelf.store, named.prefix)
        for query, number, pieces in named.over:
            take_over(shelf, Batch(query, number), pieces)

    def abort(self) -> None:
        """What was emitted and is not in a checkpoint is read again: nothing is to be discarded."""

    def close(self) -> None:
        if (shelf := getattr(self, "_shelf", None)) is not None:
            shelf.close()

    def _look(self) -> None:
        """See which batches wait."""
        found = waiting(self._shelf)
        # In this order: a batch has its mark before its manifest goes.
        marks = marked(self._shelf) if found else {}
        self._present = set(self._shelf.names(PIECES)) if found else set()
        before, self._manifests = self._manifests, {}
        for batch in found:
            if batch.number <= marks.get(batch.query, -1):
                # from a driver that did not know that it had been replaced
                withdraw(self._shelf, batch, self._shelf.names(batch.pieces))
                continue
            manifest = before.get(batch) or read_manifest(self._shelf, batch)
            if manifest is None:
                continue
            over = self._present.isdisjoint(piece.name for piece in manifest)
            if not (over and finish(self._shelf, batch, manifest)):
                self._manifests[batch] = manifest
        self._forget()
        self._look_at = time.monotonic() + _LOOK

    def _forget(self) -> None:
        """Positions in batches that are gone."""
        for split in self.splits:  # type: ignore[attr-defined]
            places = self._places(split)
            kept = {
                query: place for query, place in places.items() if Batch(query, place[0]) in self._manifests
            }
            if len(kept) < len(places):
                self._put(split, kept)

    def _next(self, split: str) -> _Reading | None:
        """The next batch that this split has rows in, of another query if there is one."""
        places = self._places(split)
        ready: dict[str, _Reading] = {}
        for batch, manifest in self._manifests.items():
            number, row = places.get(batch.query, [-1, 0])
            if batch.query in ready or batch.number < number:
                continue
            pieces = [piece for piece in manifest if str(piece.split % self._count) == split]
            begin = row if batch.number == number else 0
            # others have been taken over, in an earlier life
            left = [piece for piece in pieces if piece.name in self._present]
            if begin < sum(piece.rows for piece in left):
                ready[batch.query] = _Reading(self._shelf, batch, left, begin)
        if not ready:
            return None
        last = self._last.get(split, "")
        query = min(ready, key=lambda each: (each <= last, each))
        self._last[split] = query
        return ready[query]

    def _emit_some(self, split: str, reading: _Reading) -> None:
        batch, begin = reading.batch, reading.row
        try:
            rows = reading.take(_ROWS)
        except ObjectMissing:
            if self._saved:
                raise
            # the previous owner of the split has taken it over since the last look
            del self._readings[split]
            self._look_at = 0.0
            return
        key = batch, split
        if self._tracked:
            for row, values in enumerate(rows, begin):
                tup_id = (split, *batch, row)
                self._unacked[tup_id] = values
                self._pending[key] = self._pending.get(key, 0) + 1
                self.emit(values, tup_id)
        else:
            for values in rows:
                self.emit(values)
        self._put(split, {**self._places(split), batch.query: [batch.number, reading.row]})
        if reading.row >= sum(piece.rows for piece in reading.pieces):
            del self._readings[split]
            self._emitted[key] = reading
            self._settle(key)

    def _settle(self, key: tuple[Batch, str]) -> None:
        if key in self._emitted and not self._pending.get(key, 0):
            self._pending.pop(key, None)
            self._over.append((*key[0], self._emitted.pop(key).pieces))

    def _places(self, split: str) -> dict[str, list[int]]:
        """Query → the batch that the split is at, and its rows that are behind us."""
        kept = self.state if self._saved else self._memory
        found: dict[str, list[int]] = kept.get(split) or {}
        return found

    def _put(self, split: str, places: dict[str, list[int]]) -> None:
        kept = self.state if self._saved else self._memory
        kept[split] = places


def _rows(shelf: Shelf, pieces: Sequence[Piece], begin: int) -> Iterator[tuple[Any, ...]]:
    for piece in pieces:
        if begin >= piece.rows:
            begin -= piece.rows
            continue
        with from_stream(shelf.read(piece.name), piece.name) as stream:
            for batch in stream:
                columns = [column.to_pylist() for column in batch.slice(begin).columns]
                begin = max(0, begin - batch.num_rows)
                yield from zip(*columns, strict=True)
