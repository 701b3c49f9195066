"""Whoever dies in the middle of whatever: every row of every batch is emitted, and counts once."""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.faults.crashing import Crash, crashing
from support.tasks.ingesting import PREFIX, Life, write_batch, write_pieces

from heronpy import CheckpointStore
from heronpy.kernel.config import load_config
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.formats import SPARK
from heronpy.kernel.plugin.checkpoint_store import checked_object
from heronpy.kernel.plugin.opening import open_checkpoint_store
from heronpy.spark import ingest_spout
from heronpy.spark.batches import Piece, Pieces, marked, of_query, of_write, publish, waiting
from heronpy.spark.shelf import Shelf

TASKS = (2, 3)

Opener = Callable[[], CheckpointStore]


class Saved(NamedTuple):
    """What a checkpoint has of one task, and what has been emitted in front of it."""

    state: dict[str, Any] = {}
    handles: bytes = b""
    emitted: tuple[int, ...] = ()


class Feeding(RuleBasedStateMachine):
    """A query of Spark's that restarts, two tasks that do, and a master. All tasks go back together."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="feeding-"))
        config = load_config("/dev/null", environ={}, flags={"checkpoint.path": str(self.folder)})
        self.store: Opener = lambda: open_checkpoint_store(config)
        self.shelf = Shelf(self.store(), PREFIX)
        #: number of the next batch → the rows that the query has for it
        self.batches: list[list[int]] = []
        self.published = 0
        self.rows = 0
        self.checkpoint = 0
        self.complete = dict.fromkeys(TASKS, Saved())
        self.stored: dict[int, Saved] = {}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(ingest_spout, "_ROWS", 2)
        self.begin()

    def teardown(self) -> None:
        try:
            self.stored = {}
            if self.published < len(self.batches):
                self.write(2)
            self.work(2, self.rows)
            self.work(3, self.rows)
            self.prepare(0)
            self.prepare(1)
            self.complete_it()
            self.work(2, 1)
            emitted = Counter(number for saved in self.complete.values() for number in saved.emitted)
            assert emitted == Counter(number for batch in self.batches for number in batch)
            assert waiting(self.shelf) == []
            names = self.shelf.names("data/")
            if self.batches:
                assert marked(self.shelf) == {"query-q": len(self.batches) - 1}
        finally:
            self.patch.undo()
            Life.bury()
            shutil.rmtree(self.folder)
        assert names == []

    def begin(self) -> None:
        self.lives = {
            task: Life(self.store, task, self.complete[task].state, self.complete[task].handles)
            for task in TASKS
        }
        self.stored = {}

    @precondition(lambda self: self.published == len(self.batches))
    @rule(rows=st.integers(1, 9))
    def new_batch(self, rows: int) -> None:
        """Spark notes what belongs to a batch before it writes anything of it."""
        self.batches.append(list(range(self.rows, self.rows + rows)))
        self.rows += rows

    @precondition(lambda self: self.batches)
    @rule(pieces=st.integers(1, 5))
    def write(self, pieces: int) -> None:
        """The newest batch, perhaps again: the query has restarted before it could note that it was done."""
        number = len(self.batches) - 1
        write_batch(self.shelf, of_query("q", number), self.batches[number], pieces)
        self.published = len(self.batches)

    @precondition(lambda self: self.batches)
    @rule()
    def a_task_of_spark_fails(self) -> None:
        """What it has written is named by nobody."""
        number = len(self.batches) - 1
        if self.published <= number:
            write_pieces(self.shelf, of_query("q", number), self.batches[number], 2)

    @rule(task=st.sampled_from(TASKS), calls=st.integers(1, 4), looks=st.booleans())
    def work(self, task: int, calls: int, looks: bool = True) -> None:
        if looks:
            self.lives[task].look()
        self.lives[task].turn(calls)

    @precondition(lambda self: len(self.stored) < len(TASKS))
    @rule(first=st.integers(0, 1))
    def prepare(self, first: int) -> None:
        if not self.stored:
            self.checkpoint += 1
        waits = [task for task in TASKS if task not in self.stored]
        task = waits[first % len(waits)]
        life = self.lives[task]
        handles = life.transactions.prepare(self.checkpoint)
        emitted = (*self.complete_before(task), *life.engine.emitted)
        self.stored[task] = Saved(copy.deepcopy(life.engine.state), handles, emitted)

    def complete_before(self, task: int) -> tuple[int, ...]:
        """What was emitted before this life."""
        return self.base[task] if hasattr(self, "base") else ()

    def complete_it(self) -> None:
        self.complete, self.stored = self.stored, {}
        for life in self.lives.values():
            life.transactions.complete(self.checkpoint)

    @precondition(lambda self: len(self.stored) == len(TASKS))
    @rule()
    def complete_all(self) -> None:
        self.complete_it()

    @precondition(lambda self: self.stored)
    @rule()
    def give_up(self) -> None:
        self.stored = {}

    @rule()
    def crash(self) -> None:
        self.base = {task: saved.emitted for task, saved in self.complete.items()}
        self.begin()

    @rule(at=st.integers(1, 15), what=st.sampled_from(["write", "work", "complete", "restore"]))
    def crash_within(self, at: int, what: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "write": lambda: self.write(3),
            "work": lambda: self.work(2, 3),
            "complete": self.complete_it,
            "restore": self.crash,
        }
        if what == "complete" and len(self.stored) < len(TASKS):
            return
        if what == "write" and not self.batches:
            return
        try:
            with crashing(at):
                acts[what]()
        except Crash:
            if what != "write":
                self.crash()

    @invariant()
    def nothing_counts_twice(self) -> None:
        emitted = [number for saved in self.complete.values() for number in saved.emitted]
        assert len(emitted) == len(set(emitted))


Feeding.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestFeeding = Feeding.TestCase


def test_a_batch_waits_for_those_before_it_that_others_read(store: Opener, ingest: Shelf) -> None:
    """A mark of the second alone would say of the first that it has been taken over."""
    quick, slow = Life(store, 2, {}), Life(store, 3, {})
    for number in range(2):
        piece = write_pieces(ingest, of_query("q", number), [number], 1)
        # the first is for split 2, the second for split 0
        data = SPARK.encode(Pieces([Piece(*piece[0], split=2 - 2 * number)]))
        ingest.write(of_query("q", number).manifest, data)
    assert quick.turn(2) == [1]
    quick.transactions.prepare(1)
    quick.transactions.complete(1)
    assert marked(ingest) == {}
    assert slow.turn(2) == [0]
    slow.transactions.prepare(1)
    slow.transactions.complete(1)
    slow.look()
    slow.turn()
    assert marked(ingest) == {"query-q": 1}
    assert waiting(ingest) == []


def test_what_a_death_left_of_a_share_is_read_once(store: Opener, ingest: Shelf) -> None:
    pieces = write_pieces(ingest, of_query("q", 0), range(8), 2)
    manifest = [Piece(*piece, split=0) for piece in pieces]
    ingest.write(of_query("q", 0).manifest, SPARK.encode(Pieces(manifest)))
    write_batch(ingest, of_query("q", 1), range(10, 13), 1)
    ingest.delete(pieces[0][0])
    life = Life(store, 2, {}, reliability="at_most_once", splits=("0", "1", "2", "3"))
    assert sorted(life.turn(20)) == [1, 3, 5, 7, 10, 11, 12]
    life.transactions.roll()
    life.look()
    life.turn()
    assert waiting(ingest) == []


def test_queries_take_turns(store: Opener, ingest: Shelf) -> None:
    life = Life(store, 2, {}, splits=("0", "1", "2", "3"))
    for number in range(2):
        write_batch(ingest, of_query("a", number), range(10 * number, 10 * number + 2), 1)
        write_batch(ingest, of_query("b", number), range(100 + 10 * number, 102 + 10 * number), 1)
    seen = life.turn(8)
    assert sorted(seen) == [0, 1, 10, 11, 100, 101, 110, 111]


def test_a_position_is_forgotten_when_its_batch_is_gone(store: Opener, ingest: Shelf) -> None:
    """Else the state would grow with every write."""
    life = Life(store, 2, {}, splits=("0", "1", "2", "3"))
    for each in range(3):
        write_batch(ingest, of_write(f"token{each}"), range(5), 2)
        life.look()
        life.turn(9)
        life.transactions.prepare(each)
        life.transactions.complete(each)
    life.look()
    life.turn()
    assert [places for places in life.engine.state.values() if places] == []
    assert ingest.names("acked/") == []
    assert ingest.names("data/") == []


def test_a_batch_that_a_replaced_driver_publishes_once_more_is_not_read(store: Opener, ingest: Shelf) -> None:
    life = Life(store, 2, {}, splits=("0", "1", "2", "3"))
    batch = of_query("q", 0)
    write_batch(ingest, batch, range(3), 2)
    assert sorted(life.turn(9)) == [0, 1, 2]
    life.transactions.prepare(1)
    life.transactions.complete(1)
    publish(ingest, batch, write_pieces(ingest, batch, range(3), 3), 4)
    life.look()
    assert life.turn(9) == []
    assert ingest.names("batches/") == []
    assert ingest.names("data/") == []


def test_at_least_once_a_batch_is_taken_over_when_all_its_rows_are_acked(
    store: Opener, ingest: Shelf
) -> None:
    life = Life(store, 2, {}, reliability="at_least_once", splits=("0", "1", "2", "3"))
    write_batch(ingest, of_query("q", 0), range(3), 1)
    life.turn(2)
    first, second, third = life.engine.ids
    life.spout.ack(first)
    life.spout.fail(second)
    life.spout.fail("of an earlier life")
    life.transactions.roll()
    assert len(waiting(ingest)) == 1
    assert life.turn() == [1]
    life.spout.ack(third)
    life.spout.ack(second)
    life.spout.ack(second)
    life.transactions.roll()
    assert waiting(ingest) == []
    assert marked(ingest) == {"query-q": 0}


def test_at_least_once_a_successor_begins_with_what_is_not_acked(store: Opener, ingest: Shelf) -> None:
    write_batch(ingest, of_query("q", 0), range(3), 1)
    every = ("0", "1", "2", "3")
    life = Life(store, 2, {}, reliability="at_least_once", splits=every)
    life.turn(2)
    successor = Life(store, 2, life.engine.state, reliability="at_least_once", splits=every)
    assert successor.turn(2) == [0, 1, 2]


def test_at_least_once_what_another_task_has_taken_over_since_is_passed_by(
    store: Opener, ingest: Shelf
) -> None:
    every = ("0", "1", "2", "3")
    write_batch(ingest, of_query("q", 0), range(3), 1)
    life = Life(store, 2, {}, reliability="at_most_once", splits=every)
    other = Life(store, 3, {}, reliability="at_most_once", splits=every)
    other.spout._look()
    life.turn(2)
    life.transactions.roll()
    assert other.turn(3) == []


def test_splits_that_come_with_a_change_of_plan_go_on_where_they_were(store: Opener, ingest: Shelf) -> None:
    write_batch(ingest, of_query("q", 0), range(2000), 1)
    giver = Life(store, 2, {}, splits=("0", "1", "2", "3"))
    seen = giver.turn()
    taker = Life(store, 3, {}, splits=("nothing",))
    assert taker.turn() == []
    taker.engine.state.update(giver.engine.state)
    taker.spout.splits = giver.spout.splits
    taker.spout.on_plan_change(None)
    assert [*seen, *taker.turn(20)] == list(range(2000))


def test_fewer_splits_than_before_share_what_was_for_all(store: Opener, ingest: Shelf) -> None:
    pieces = write_pieces(ingest, of_query("q", 0), range(40), 7)
    publish(ingest, of_query("q", 0), pieces, 64)
    life = Life(store, 2, {}, splits=("0", "1", "2", "3"))
    assert sorted(life.turn(20)) == list(range(40))


def test_another_schema_is_refused(store: Opener, ingest: Shelf) -> None:
    import pyarrow

    ingest.write("schema", pyarrow.schema([("other", pyarrow.date32())]).serialize().to_pybytes())
    with pytest.raises(TopologyError) as caught:
        Life(store, 2, {})
    assert str(caught.value) == (
        "'rows' has the schema (number: int64, word: string), and what it has written before has"
        " (other: date32[day]) (try: give it another name, or run heronpy kill without --keep-checkpoints)"
    )


def test_all_names_are_good_for_every_store() -> None:
    for batch in (of_query("2eae03fc-ce88-46b4-bfe9-284456156222", 7), of_write("ab12"), of_write("", "x.y")):
        for name in (batch.manifest, batch.mark, f"{batch.pieces}ab-000001"):
            assert checked_object(name) == name
