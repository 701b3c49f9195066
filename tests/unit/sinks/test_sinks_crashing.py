"""Whatever a sink dies in the middle of, whoever comes after it: everything is shown exactly once."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.faults.crashing import Crash, crashing
from support.tasks.sinking import Kind, Life, files, rows, segments

from heronpy.kernel.errors import TopologyError

TASKS = (2, 3)


def kind_in(folder: Path, name: str) -> Kind:
    if name == "segments":
        return segments(folder / "store")
    return files(folder / "out") if name == "files" else rows(folder / "words.db")


class Saved(NamedTuple):
    """What a checkpoint has of one task: how far its source is, and its handles."""

    position: int = 0
    handles: bytes = b""


class Sinking(RuleBasedStateMachine):
    """Two tasks of a sink, each with a source of its own, and a master. All go back together."""

    name = "files"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="sinking-"))
        self.kind = kind_in(self.folder, self.name)
        self.checkpoint = 0
        #: what everybody begins with that comes next
        self.complete = dict.fromkeys(TASKS, Saved())
        #: of the checkpoint that is under way
        self.stored: dict[int, Saved] = {}
        #: processes that were thought dead, and what was complete when they heard of it last
        self.zombies: list[tuple[Life, int]] = []
        self.newest = 0
        self.begin()

    def teardown(self) -> None:
        self.give_up()
        for task in TASKS:
            self.write(task, 100)
        self.prepare(0)
        self.prepare(1)
        self.complete_it()
        shown = self.kind.read()
        Life.bury()
        shutil.rmtree(self.folder)
        assert shown == sorted(f"{task}.{number}" for task in TASKS for number in range(100))

    def begin(self) -> None:
        self.lives = {task: self.kind.life(task, self.complete[task].handles) for task in TASKS}
        self.positions = {task: self.complete[task].position for task in TASKS}
        self.stored = {}

    @rule(task=st.sampled_from(TASKS), count=st.integers(1, 9))
    def write(self, task: int, count: int) -> None:
        first = self.positions[task]
        self.positions[task] = min(100, first + count)
        self.lives[task].write(*(f"{task}.{number}" for number in range(first, self.positions[task])))

    @precondition(lambda self: len(self.stored) < len(TASKS))
    @rule(first=st.integers(0, 1))
    def prepare(self, first: int) -> None:
        """The barrier comes to one of the two."""
        if not self.stored:
            self.checkpoint += 1
        waiting = [task for task in TASKS if task not in self.stored]
        if waiting:
            task = waiting[first % len(waiting)]
            handles = self.lives[task].transactions.prepare(self.checkpoint)
            self.stored[task] = Saved(self.positions[task], handles)

    @precondition(lambda self: self.stored)
    @rule()
    def give_up(self) -> None:
        self.stored = {}

    def complete_it(self) -> None:
        """Durable first, and only then anybody hears of it."""
        self.complete, self.stored, self.newest = self.stored, {}, self.checkpoint
        for life in self.lives.values():
            life.transactions.complete(self.checkpoint)

    @precondition(lambda self: len(self.stored) == len(TASKS))
    @rule()
    def complete_all(self) -> None:
        self.complete_it()

    @rule()
    def crash(self) -> None:
        self.zombies += [(life, self.newest) for life in self.lives.values()]
        self.begin()

    @precondition(lambda self: self.zombies)
    @rule()
    def zombie_commits(self) -> None:
        """It had heard that a checkpoint is complete, and was stopped just then."""
        life, newest = self.zombies.pop()
        with contextlib.suppress(TopologyError):
            life.transactions.complete(newest)

    @rule(at=st.integers(1, 12), what=st.sampled_from(["write", "prepare", "complete", "restore"]))
    def crash_within(self, at: int, what: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "write": lambda: self.write(2, 5),
            "prepare": lambda: self.prepare(at),
            "complete": self.complete_it,
            "restore": self.begin,
        }
        if what == "complete" and len(self.stored) < len(TASKS):
            return
        try:
            with crashing(at):
                acts[what]()
        except Crash:
            self.crash()

    @invariant()
    def nothing_is_shown_twice_and_all_that_is_complete_is_not_forgotten(self) -> None:
        shown = self.kind.read()
        assert len(shown) == len(set(shown))
        for task, saved in self.complete.items():
            assert [word for word in shown if word.startswith(f"{task}.")] == sorted(
                f"{task}.{number}" for number in range(saved.position)
            )


class SinkingRows(Sinking):
    name = "rows"


class SinkingSegments(Sinking):
    """Somebody reads meanwhile, and takes away what he has."""

    name = "segments"


Sinking.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
SinkingRows.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
SinkingSegments.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestSinkingFiles = Sinking.TestCase
TestSinkingRows = SinkingRows.TestCase
TestSinkingSegments = SinkingSegments.TestCase


@pytest.fixture(params=["files", "rows"])
def staged(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """Those that have a folder of their own for what is not committed."""
    return kind_in(tmp_path, request.param)


@pytest.fixture(params=["files", "rows", "segments"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    return kind_in(tmp_path, request.param)


def test_a_life_that_ends_between_any_two_steps_leaves_one_line_each(kind: Kind) -> None:
    """Die before the first thing that is done to a file, before the second, and so on to the end."""
    at, committed, died = 0, 0, True
    saved = b""
    while died:
        at += 1
        died = False
        handles = b""
        try:
            with crashing(at):
                life = kind.life(saved=saved)
                life.write(f"{committed:03}")
                handles = life.transactions.prepare(at)
                life.transactions.complete(at)
        except Crash:
            died = True
        if handles:  # it was stored, and the checkpoint is complete
            saved = handles
            committed += 1
    kind.life(saved=saved)
    assert at > 4
    assert kind.read() == [f"{number:03}" for number in range(committed)]


def test_what_a_task_leaves_that_retires_is_committed_by_another_with_the_next_checkpoint(
    kind: Kind,
) -> None:
    first, second = kind.life(2), kind.life(3)
    first.write("a")
    second.write("b")
    second.transactions.prepare(1)
    second.write("c")
    handed_over = second.transactions.hand_over()
    first.transactions.adopt([{"transactions": handed_over}])
    assert kind.read() == []
    # A task of the same index comes and goes: what is not its own is safe from it.
    newcomer = kind.life(4)
    newcomer.sink.close()
    saved = first.transactions.prepare(2)
    first.transactions.complete(1)
    assert kind.read() == []
    first.transactions.complete(2)
    assert kind.read() == ["a", "b", "c"]
    kind.life(2, saved)
    assert kind.read() == ["a", "b", "c"]


def test_what_was_handed_over_is_forgotten_when_everybody_goes_back(kind: Kind) -> None:
    first, second = kind.life(2), kind.life(3)
    second.write("b")
    first.transactions.adopt([{"transactions": second.transactions.hand_over()}])
    kind.life(2)
    successor = kind.life(3)
    successor.write("b")
    successor.transactions.prepare(1)
    successor.transactions.complete(1)
    assert kind.read() == ["b"]


def test_a_task_that_was_to_retire_and_does_not_commits_with_the_next_checkpoint(kind: Kind) -> None:
    life = kind.life()
    life.write("a")
    life.transactions.hand_over()
    life.write("b")
    life.transactions.complete(7)
    assert kind.read() == []
    life.transactions.prepare(8)
    life.transactions.complete(8)
    assert kind.read() == ["a", "b"]


def test_at_least_once_a_tuple_is_acked_when_its_row_is_there(kind: Kind) -> None:
    life = kind.life(waits=False)
    life.write("a", "b", tracked=True)
    assert (kind.read(), life.engine.acked) == ([], [])
    life.transactions.roll()
    assert (kind.read(), life.engine.acked) == (["a", "b"], ["a", "b"])
    life.write("c", tracked=True)
    successor = kind.life(waits=False)
    successor.write("c", tracked=True)
    with pytest.raises(TopologyError, match=r"is gone: another process has taken the place of this task"):
        life.transactions.roll()
    assert life.engine.acked == ["a", "b"]
    successor.transactions.hand_over()
    assert (kind.read(), successor.engine.acked) == (["a", "b", "c"], ["c"])


def test_where_nobody_waits_for_acks_they_are_given_at_once(kind: Kind) -> None:
    life = kind.life()
    life.write("a")
    assert life.engine.acked == ["a"]


def test_a_checkpoint_without_rows_leaves_nothing_behind(kind: Kind) -> None:
    life = kind.life()
    assert life.transactions.prepare(1) == b""
    life.transactions.complete(1)
    assert kind.read() == []


def test_close_takes_away_what_was_being_written(staged: Kind, tmp_path: Path) -> None:
    life = staged.life()
    life.write("a")
    (staging,) = (path for path in tmp_path.rglob("*uncommitted") if path.is_dir())
    assert len(list(staging.iterdir())) == 1
    life.sink.close()
    life.sink.close()
    assert list(staging.iterdir()) == []


def test_a_folder_that_is_not_there_where_the_successor_runs_is_said(staged: Kind, tmp_path: Path) -> None:
    life = staged.life()
    life.write("a")
    saved = life.transactions.prepare(1)
    (staging,) = (path for path in tmp_path.rglob("*uncommitted") if path.is_dir())
    shutil.rmtree(staging)
    elsewhere = kind_in(tmp_path / "elsewhere", "files" if "folder" in "".join(staged.config) else "rows")
    with pytest.raises(TopologyError, match=r"is to be committed, and there is no folder"):
        elsewhere.life(saved=saved)
