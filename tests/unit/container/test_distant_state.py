"""Processes whose state tree is out of reach for a while, or has taken them for dead."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

import msgspec
import pytest
from support.tasks.distant import DistantState

from heronpy.container.execution import read_execution
from heronpy.container.folders import create_launch
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.container.scheduler.scheduler_loop import SchedulerLoop
from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError, VersionConflict
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.liveness.heartbeat_node import HeartbeatNode, HeartbeatReader
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import ContainerExit, Launcher, Scheduler, StateManager
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.paths import Execution, Registration, Tree
from heronpy.kernel.tree.registrations import NodeFollower
from heronpy.testing.waiting import eventually

TREE = Tree("t")
PATH = TREE.pulse(1)
SILENCE = 8.0


@pytest.fixture
def distant(config: Config) -> Iterator[DistantState]:
    manager = DistantState()
    manager.initialize(config)
    yield manager
    manager.out_of_reach = False
    manager.close()


class Quiet(Scheduler):
    """Starts nothing; between two turns of its host the next step of the story happens."""

    stateful = True

    def __init__(self, *story: Callable[[], object]) -> None:
        self.story = list(story)

    def initialize(self, config: Config, launcher: Launcher) -> None:
        self.ended = False

    def on_schedule(self, plan: PackingPlan) -> None:
        pass

    def on_restart(self, containers: object) -> None:
        pass

    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        pass

    def on_kill(self) -> None:
        self.ended = True

    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        self.story.pop(0)()
        return iter(())

    def wake(self) -> None:
        pass


@pytest.fixture
def host(config: Config, distant: DistantState) -> Iterator[Callable[[Quiet], SchedulerLoop]]:
    path = create_launch(config, "t")
    execution = Execution(TopologyLaunch.read(path).execution, "me", 0.0, "0", "test", "quiet", "localfs")
    distant.set(TREE.execution, msgspec.json.encode(execution))
    distant.set(TREE.packing_plan, PackingPlan("t", "test", (), 1, 1).to_json())
    distant.create(TREE.scheduler, msgspec.json.encode(SchedulerNode.of_this_process({})), ephemeral=True)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield lambda scheduler: SchedulerLoop(str(path), distant, scheduler)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_that_the_tree_cannot_be_read_is_nobodys_silence(state: StateManager, distant: DistantState) -> None:
    heartbeat, reader = HeartbeatNode(state, PATH, SILENCE), HeartbeatReader(distant, SILENCE)
    reader.look(0.0, [PATH])
    distant.out_of_reach = True
    for second in range(1, 100):
        with pytest.raises(StateError):
            reader.look(float(second), [PATH])
    distant.come_back()
    reader.look(100.0, [PATH])
    assert reader.detector.silent() == []
    heartbeat.beat()
    reader.look(101.0, [PATH])
    assert reader.detector.quiet(PATH) == 0


def test_a_pulse_that_was_taken_for_dead_beats_again_unless_another_has_its_place(
    state: StateManager, distant: DistantState
) -> None:
    heartbeat = HeartbeatNode(distant, PATH, SILENCE)
    distant.come_back(lost=PATH)
    heartbeat.beat()
    heartbeat.beat()
    assert state.exists(PATH)
    distant.come_back(lost=PATH)
    successor = HeartbeatNode(state, PATH, SILENCE)
    with pytest.raises(VersionConflict):
        heartbeat.beat()
    successor.beat()


def test_what_could_not_be_followed_is_read_again_until_it_can(distant: DistantState) -> None:
    reactor, values = Reactor(), []
    follower = NodeFollower(distant, reactor, lambda: values.append(distant.get("/t/plan").value))
    distant.create("/t/plan", b"1")
    follower.follow("/t/plan")
    distant.set("/t/plan", b"2")
    distant.out_of_reach = True
    reactor.turn(1.0)
    assert values == []
    distant.come_back()

    def followed() -> bool:
        reactor.turn(0.01)
        return bool(values)

    eventually(followed)
    assert set(values) == {b"2"}
    follower.close()
    reactor.close()


def test_the_scheduler_waits_for_the_tree_and_takes_its_place_again(
    state: StateManager, distant: DistantState, host: Callable[[Quiet], SchedulerLoop]
) -> None:
    seen: list[bool] = []

    def lose() -> None:
        distant.out_of_reach = True
        # nobody can tell the host before it has come to wait
        state.delete(TREE.scheduler)
        distant.sessions += 1

    def stop() -> None:
        seen.append(state.exists(TREE.scheduler))
        hosting._on_stop_signal()

    scheduler = Quiet(lose, stop)
    hosting = host(scheduler)
    hosting._pause = lambda timeout: distant.come_back()  # type: ignore[method-assign]
    hosting.run(lambda: None)
    assert seen == [True]
    assert not scheduler.ended
    assert read_execution(state, "t") is not None


def test_a_scheduler_that_was_taken_for_dead_leaves_everything_to_its_successor(
    state: StateManager, distant: DistantState, host: Callable[[Quiet], SchedulerLoop]
) -> None:
    def lose() -> None:
        distant.come_back(lost=TREE.scheduler)
        state.create(TREE.scheduler, b"another")

    scheduler = Quiet(lose)
    host(scheduler).run(lambda: None)
    assert not scheduler.ended
    assert state.get(TREE.scheduler).value == b"another"


def test_who_asks_the_master_is_known_to_it_again_after_the_tree_forgot(
    state: StateManager, distant: DistantState
) -> None:
    # on another machine, so that it has to be asked over the network
    with contextlib.closing(Transport()) as transport:
        master = Registration(transport.keys.public, 1, "tcp://127.0.0.1:1")
    state.set(TREE.master, msgspec.json.encode(master))
    with MasterClient(distant, "t") as client:
        client.status(0.01)
        (name,) = state.children(TREE.clients)
        distant.come_back(lost=f"{TREE.clients}/{name}")
        assert state.children(TREE.clients) == []
        client.status(0.01)
        assert state.children(TREE.clients) == [name]
    assert state.children(TREE.clients) == []
