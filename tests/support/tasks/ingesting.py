"""An ingest spout with a Spark that writes and a master, played by the test: lives, checkpoints, crashes."""

from __future__ import annotations

import copy
import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pyarrow

from heronpy import CheckpointStore
from heronpy.component import make_component
from heronpy.context import TopologyContext
from heronpy.instances.saving.sink_transactions import TRANSACTIONS, Transactions
from heronpy.kernel.plans import Component, DeclaredStream, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.plans.logical import Reliability
from heronpy.spark import IngestSpout
from heronpy.spark.arrow_stream import to_stream
from heronpy.spark.batches import Batch, has_been, publish
from heronpy.spark.shelf import Shelf

SCHEMA = pyarrow.schema([("number", pyarrow.int64()), ("word", pyarrow.string())])
PREFIX = "fed/components/rows/ingest"
SPLITS = 4


class Engine:
    """What a spout is connected to."""

    logger = logging.getLogger("engine")

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.emitted: list[int] = []
        self.ids: list[Any] = []

    def open_state(self) -> dict[str, Any]:
        return self.state

    def emit(self, tup: Sequence[Any], tup_id: Any = None, *_: Any) -> None:
        self.emitted.append(tup[0])
        self.ids.append(tup_id)


def plan_for(reliability: Reliability) -> PhysicalPlan:
    fed = Component("rows", "spout", "m.Rows", 2, outputs=(DeclaredStream("default", ("number", "word")),))
    logical = LogicalPlan("fed", (fed,), reliability=reliability)
    return PhysicalPlan("fed", 1, logical, (PlacedTask(2, "rows", 0, 1), PlacedTask(3, "rows", 1, 1)), (), {})


class Life:
    """One process of one task of the spout."""

    lives: ClassVar[list[Life]] = []

    def __init__(
        self,
        store: Callable[[], CheckpointStore],
        task: int,
        state: dict[str, Any],
        saved: bytes = b"",
        *,
        reliability: Reliability = "effectively_once",
        splits: tuple[str, ...] = (),
    ) -> None:
        Life.lives.append(self)
        self.engine = Engine(copy.deepcopy(state))
        self.spout = make_component(IngestSpout, self.engine)
        self.spout.splits = splits or (("0", "1") if task == 2 else ("2", "3"))
        self.transactions = Transactions(
            self.spout, f"fed-x1-{task}", [{TRANSACTIONS: saved}], waits=reliability == "effectively_once"
        )
        config = {IngestSpout.SCHEMA: {"number": "int64", "word": "string"}, IngestSpout.SPLITS: SPLITS}
        context = TopologyContext(plan_for(reliability), task, config)
        context.store = store
        self.spout.initialize(config, context)
        self.transactions.recover()

    @classmethod
    def bury(cls) -> None:
        while cls.lives:
            cls.lives.pop().spout.close()

    def look(self) -> None:
        """What it would do after a moment."""
        self.spout._look_at = 0.0

    def turn(self, calls: int = 1) -> list[int]:
        """What some calls of next_tuple emit."""
        before = len(self.engine.emitted)
        for _ in range(calls):
            self.spout.next_tuple()
        return self.engine.emitted[before:]


def write_pieces(shelf: Shelf, batch: Batch, numbers: Sequence[int], pieces: int) -> list[tuple[str, int]]:
    """As tasks of Spark do."""
    written = []
    attempt = secrets.token_hex(3)
    for piece in range(pieces):
        own = numbers[piece::pieces]
        if own:
            rows = pyarrow.RecordBatch.from_pydict({"number": own, "word": ["w"] * len(own)}, schema=SCHEMA)
            name = f"{batch.pieces}{attempt}-{piece}"
            shelf.write(name, to_stream([rows.slice(0, 1), rows.slice(1)]))
            written.append((name, len(own)))
    return written


def write_batch(shelf: Shelf, batch: Batch, numbers: Sequence[int], pieces: int) -> None:
    """As a micro-batch of Spark does, that may be a repetition."""
    written = write_pieces(shelf, batch, numbers, pieces)
    if has_been(shelf, batch):
        for name, _ in written:
            shelf.delete(name)
    else:
        publish(shelf, batch, written, SPLITS)
