"""A checkpoint at once: asked for in the state tree, taken by a master, or not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest

from heronpy.kernel.checkpoints.demand import answer_demand, being_taken, pending_demands, take_checkpoint
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import TimedOut, UserError
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree

NAME = "wordcount"
TREE = Tree(NAME)
OLD, NEW = CheckpointRef(6, "wordcount/e/6/manifest", "aa"), CheckpointRef(7, "wordcount/e/7/manifest", "bb")


@pytest.fixture(autouse=True)
def topology(state: StateManager) -> None:
    state.create(TREE.execution, b"{}")
    state.create(TREE.master, b"{}")
    state.create(TREE.checkpoints, Checkpoints(started=6, complete=(OLD,)).to_json())


def serve(state: StateManager, act: Callable[[str], None]) -> threading.Thread:
    """A master that does one thing with the first demand it sees."""
    seen = threading.Event()
    watch = state.watch(TREE.demands, seen.set)

    def wait_and_act() -> None:
        while not pending_demands(state, NAME):
            assert seen.wait(10)
            seen.clear()
        watch.cancel()
        (path,) = pending_demands(state, NAME)
        act(path)

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_the_new_checkpoint_is_the_answer_and_nothing_stays_behind(state: StateManager) -> None:
    told: list[str] = []

    def master(path: str) -> None:
        state.set(TREE.checkpoints, Checkpoints(started=7, complete=(OLD,)).to_json())
        state.set(TREE.checkpoints, Checkpoints(started=7, complete=(OLD, NEW)).to_json())
        answer_demand(state, path)

    thread = serve(state, master)
    assert take_checkpoint(state, NAME, timeout=10, progress=told.append) == NEW
    thread.join()
    assert told[0] == "waiting for the topology master to begin"
    assert state.children(TREE.demands) == []


def test_a_checkpoint_that_was_given_up_says_why(state: StateManager) -> None:
    thread = serve(state, lambda path: answer_demand(state, path, "count[1] did not store its state"))
    with pytest.raises(UserError, match=r"^no checkpoint was taken: count\[1\] did not store its state$"):
        take_checkpoint(state, NAME, timeout=10)
    thread.join()
    assert state.children(TREE.demands) == []


def test_nobody_answers_in_time(state: StateManager) -> None:
    state.delete(TREE.master)
    with pytest.raises(TimedOut) as late:
        take_checkpoint(state, NAME, timeout=0.05)
    assert str(late.value) == (
        "no checkpoint of 'wordcount' in 50ms: waiting for the topology master"
        " (try: heronpy status wordcount)"
    )
    assert late.value.exit_code == 3
    assert state.children(TREE.demands) == []


def test_what_is_on_its_way_is_said(state: StateManager) -> None:
    state.set(TREE.checkpoints, Checkpoints(started=7, complete=(OLD,)).to_json())
    with pytest.raises(TimedOut, match="in 50ms: checkpoint 7 is being taken"):
        take_checkpoint(state, NAME, timeout=0.05)


def test_a_topology_that_is_killed_meanwhile_leaves_no_node(state: StateManager) -> None:
    thread = serve(state, lambda path: state.delete(TREE.root, recursive=True))
    with pytest.raises(UserError, match="was killed meanwhile"):
        take_checkpoint(state, NAME, timeout=10)
    thread.join()
    assert state.children("/") == []


def test_the_master_sees_what_is_not_answered_yet_and_clears_nonsense(state: StateManager) -> None:
    state.create(f"{TREE.demands}/one", b"{}")
    state.create(f"{TREE.demands}/two", b"{}")
    state.create(f"{TREE.demands}/nonsense", b"\xff")
    answer_demand(state, f"{TREE.demands}/two", "no")
    answer_demand(state, f"{TREE.demands}/gone", "no")
    assert pending_demands(state, NAME) == [f"{TREE.demands}/one"]
    assert state.children(TREE.demands) == ["one", "two"]


@pytest.mark.parametrize(
    ("started", "aborted", "running"), [(6, 0, 0), (7, 0, 7), (7, 7, 0), (8, 7, 8), (0, 0, 0)]
)
def test_which_one_is_on_its_way(started: int, aborted: int, running: int) -> None:
    node = Checkpoints(started=started, aborted=aborted, complete=(OLD,) if started else ())
    assert being_taken(node) == running
    assert msgspec.json.decode(node.to_json(), type=Checkpoints) == node
