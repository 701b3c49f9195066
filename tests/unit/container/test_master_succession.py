"""Two masters of one topology: the higher incarnation has the node, whoever is stopped, late or gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import msgspec
import pytest
from support.tasks.distant import DistantState

from heronpy.kernel.config import Config
from heronpy.kernel.master.client import unreachable
from heronpy.kernel.master.main import TopologyMaster
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.plans import Component, ContainerPlan, InstancePlan, LogicalPlan, PackingPlan, Resources
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import ChildView, Execution, ExecutorNode, Registration, Tree
from heronpy.testing.waiting import eventually

TREE = Tree("words")


class Master:
    """One as its process has it, with a hold on the state tree of its own."""

    def __init__(self, config: Config, incarnation: int, stack: ExitStack) -> None:
        self.state = DistantState()
        self.state.initialize(config)
        stack.callback(self.state.close)
        self.reactor = Reactor()
        stack.callback(self.reactor.close)
        transport = stack.enter_context(Transport(host="127.0.0.1"))
        TopologyMaster(MasterState(self.state, TREE, incarnation, config), self.reactor, transport).startup()

    def turn(self) -> bool:
        """Go on for a moment; whether it ends."""
        self.reactor.turn(0.01)
        return self.reactor.stopping


@pytest.fixture
def master(config: Config, state: StateManager) -> Iterator[Callable[[int], Master]]:
    """Makes masters of a topology of one task."""
    logical = LogicalPlan("words", (Component("line", "spout", "m.Line", 1),))
    placed = ContainerPlan(1, (InstancePlan(1, "line", 0),), Resources())
    state.set(
        TREE.execution, msgspec.json.encode(Execution("id", "me", 0.0, "0", "test", "local", "localfs"))
    )
    state.set(TREE.definition, logical.to_json())
    state.set(TREE.packing_plan, PackingPlan("words", "test", (placed,), next_task=2).to_json())
    with ExitStack() as stack:
        yield lambda incarnation: Master(config, incarnation, stack)


def registered(state: StateManager) -> int:
    return msgspec.json.decode(state.get(TREE.master).value, type=Registration).incarnation


def test_a_successor_takes_the_place_of_one_that_is_stopped_which_ends_when_it_wakes(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    first = master(1)
    second = master(2)
    assert registered(state) == 2
    eventually(first.turn)
    assert registered(state) == 2
    first.state.close()
    for _ in range(20):
        assert not second.turn()
    assert registered(state) == 2


def test_one_that_comes_too_late_leaves_the_place_to_its_successor(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    second = master(2)
    assert master(1).reactor.stopping
    assert registered(state) == 2
    assert not second.turn()


def test_a_place_that_was_lost_is_taken_again(state: StateManager, master: Callable[[int], Master]) -> None:
    only = master(1)
    state.delete(TREE.master)
    eventually(lambda: not only.turn() and state.exists(TREE.master))
    assert registered(state) == 1


def test_one_that_was_taken_for_dead_does_not_take_the_place_again(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    only = master(1)
    only.state.come_back(lost=TREE.master)
    eventually(only.turn)
    assert not state.exists(TREE.master)


def test_a_master_goes_on_when_the_tree_is_in_reach_again(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    only = master(1)
    state.set(TREE.executor(1), msgspec.json.encode(ExecutorNode(1, 1)))
    only.state.out_of_reach = True
    for _ in range(30):
        assert not only.turn()
    only.state.come_back()
    assert not only.turn()
    assert registered(state) == 1


def test_a_master_does_not_outlive_its_topology_nor_bring_it_back(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    only = master(1)
    state.delete(TREE.root, recursive=True)
    eventually(only.turn)
    assert state.children("/") == []


def test_status_without_a_master_says_when_it_was_given_up(
    state: StateManager, master: Callable[[int], Master]
) -> None:
    status = unreachable(state, "words")
    assert status.reason.startswith("the topology master does not answer;")
    # nobody has said that they are missing: most likely all of them work on
    assert [one.state for one in status.containers] == ["unknown"]
    assert [one.state for one in status.instances] == ["unknown"]
    child = ChildView(pid=0, state="given_up", restarts=20, last_exit="exit 70", since=0.0, streak=20)
    node = ExecutorNode(1, 1, {"topology-master": child})
    state.set(TREE.executor(0), msgspec.json.encode(node))
    status = unreachable(state, "words")
    assert status.reason == (
        "topology-master was given up after 20 restarts in a row: exit 70;"
        " heronpy restart words 0 tries again"
    )
    state.set(TREE.given_up(0), b"given up after 20 restarts in a row: exit 1")
    status = unreachable(state, "words")
    assert status.reason == (
        "container 0, the topology master's, was given up after 20 restarts in a row: exit 1;"
        " heronpy restart words 0 tries again"
    )
