"""A sink with a source of numbers and a master, played by the test: lives, checkpoints, crashes."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from heronpy import CheckpointStore, FileSink, SQLiteSink
from heronpy.component import make_component
from heronpy.context import TopologyContext
from heronpy.instances.saving.sink_transactions import TRANSACTIONS, Transactions
from heronpy.kernel.config import load_config
from heronpy.kernel.plans import Component, DeclaredStream, Input, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.plans.logical import DeclaredGrouping
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.spark import SegmentSink
from heronpy.spark.arrow_stream import from_stream
from heronpy.spark.readers import Reader
from heronpy.spark.segments import COMMITTED, DATA, Offset, Present, between, from_plain, reach, to_plain
from heronpy.spark.shelf import Shelf
from heronpy.tuple import Tuple, tuple_class

FIELDS = ("word", "count")


class Engine:
    """What a sink is connected to."""

    logger = logging.getLogger("engine")

    def __init__(self) -> None:
        self.acked: list[Any] = []

    def ack(self, tup: Tuple) -> None:
        self.acked.append(tup.values[0])


def plan_for(tasks: int = 3) -> PhysicalPlan:
    """words (task 1) feeds sink (tasks 2, 3, …)."""
    edge = Input("words", "default", DeclaredGrouping("shuffle"))
    logical = LogicalPlan(
        "wordcount",
        (
            Component("words", "spout", "m.Words", 1, outputs=(DeclaredStream("default", FIELDS),)),
            Component("sink", "bolt", "m.Sink", tasks, inputs=(edge,)),
        ),
    )
    placed = (
        PlacedTask(1, "words", 0, 1),
        *(PlacedTask(2 + index, "sink", index, 1) for index in range(tasks)),
    )
    return PhysicalPlan("wordcount", 1, logical, placed, (), {})


def tuple_of(word: Any, count: int = 1, tup_id: object = None) -> Tuple:
    made: Tuple = tuple.__new__(tuple_class(FIELDS), (tup_id, "words", "default", 1, [word, count]))
    return made


class Life:
    """One process of one task of a sink."""

    #: all that have not been buried
    lives: ClassVar[list[Life]] = []

    def __init__(
        self,
        cls: type[Any],
        config: dict[str, Any],
        task: int = 2,
        saved: bytes = b"",
        *,
        waits: bool = True,
        store: Callable[[], CheckpointStore] | None = None,
    ) -> None:
        Life.lives.append(self)
        self.engine = Engine()
        self.sink = make_component(cls, self.engine)
        self.transactions = Transactions(
            self.sink, f"wordcount-x1-{task}", [{TRANSACTIONS: saved}], waits=waits
        )
        context = TopologyContext(plan_for(), task, config)
        context.store = store
        self.sink.initialize(config, context)
        self.transactions.recover()

    @classmethod
    def bury(cls) -> None:
        """Close what they have left open, as the system does for the dead."""
        while cls.lives:
            cls.lives.pop().sink.close()

    def write(self, *words: Any, tracked: bool = False) -> None:
        for word in words:
            self.sink.process(tuple_of(word, tup_id=word if tracked else None))


class Kind(NamedTuple):
    """A sink, what it is configured with, and what it has shown."""

    cls: type[Any]
    config: dict[str, Any]
    read: Callable[[], list[str]]
    store: Callable[[], CheckpointStore] | None = None

    def life(self, task: int = 2, saved: bytes = b"", *, waits: bool = True) -> Life:
        return Life(self.cls, self.config, task, saved, waits=waits, store=self.store)


def files(folder: Path) -> Kind:
    def read() -> list[str]:
        return sorted(
            line.split("\t")[0] for path in folder.glob("[!.]*") for line in path.read_text().splitlines()
        )

    return Kind(FileSink, {FileSink.FOLDER: str(folder)}, read)


def rows(database: Path, **more: Any) -> Kind:
    def read() -> list[str]:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return sorted(str(word) for (word,) in connection.execute("SELECT word FROM words"))

    return Kind(SQLiteSink, {SQLiteSink.DATABASE: str(database), SQLiteSink.TABLE: "words", **more}, read)


class Query:
    """Reads segments as Spark does: all that is new; then it commits what it has."""

    def __init__(self, shelf: Shelf, name: str = "default") -> None:
        self.shelf = shelf
        self.reader = Reader(shelf, name)
        self.at: Offset = from_plain(to_plain(self.reader.enter(new=True)))
        self.words: list[str] = []

    def read(self, *, commits: bool = True) -> list[str]:
        marks = self.shelf.names(COMMITTED)
        present = Present.of(marks, self.shelf.names(DATA))
        end = reach(self.at, present)
        for lane, number in between(self.at, end):
            for name in present.committed[lane][number].data():
                with from_stream(self.shelf.read(name), name) as stream:
                    self.words += [word for batch in stream for word in batch["word"].to_pylist()]
        if commits and end != self.at:
            self.reader.commit(end)
        self.at = from_plain(to_plain(end))
        return sorted(self.words)


def segments(folder: Path) -> Kind:
    """What has been read, by somebody who takes away what he has."""
    config = load_config("/dev/null", environ={}, flags={"checkpoint.path": str(folder)})

    def store() -> CheckpointStore:
        return open_checkpoint_store(config)

    query = Query(Shelf(store(), "wordcount/components/sink/segments"))
    return Kind(SegmentSink, {SegmentSink.SCHEMA: {"word": "string", "count": "int64"}}, query.read, store)
