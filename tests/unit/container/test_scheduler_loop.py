"""The scheduler's process: containers of both plans in an update, who fails then, and who is missed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from heronpy.container.folders import create_launch
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.container.scheduler.scheduler_loop import SchedulerLoop
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import ContainerPlan, PackingPlan, Resources
from heronpy.kernel.plugin import ContainerExit, Launcher, Scheduler, StateManager
from heronpy.kernel.plugin.scheduler import HOPELESS
from heronpy.kernel.tree.paths import Execution, ExecutorNode, Tree
from heronpy.kernel.tree.requests import request_replacement
from heronpy.kernel.tree.update import Phase, Update, UpdateFailure

TREE = Tree("t")


class Scripted(Scheduler):
    """Remembers what it was told; between two turns of its host the next step of the story happens."""

    stateful = True

    def __init__(self, *story: Callable[[], object]) -> None:
        self.story = list(story)
        self.told: list[str] = []
        #: says no to new containers
        self.full = False
        #: containers without room
        self.without_room: dict[int, str] = {}
        #: to be told with the next step
        self.exits: list[ContainerExit] = []

    def initialize(self, config: Config, launcher: Launcher) -> None:
        self.launcher = launcher

    def on_schedule(self, plan: PackingPlan) -> None:
        self.told.append(f"schedule {ids(plan)}")

    def on_kill(self) -> None:
        self.told.append("kill")

    def on_restart(self, containers: Sequence[int]) -> None:
        self.told.append(f"restart {list(containers)}")

    def on_update(self, current: PackingPlan, proposed: PackingPlan) -> None:
        self.told.append(f"update {ids(current)} {ids(proposed)}")
        for container in proposed.containers:
            assert self.launcher.container(container.id).resources == container.resources
        if self.full and len(proposed.containers) > len(current.containers):
            msg = "no room for\na third container"
            raise UserError(msg)

    def watch(self, timeout: float) -> Iterator[ContainerExit]:
        self.story.pop(0)()
        exits, self.exits = self.exits, []
        return iter(exits)

    def wake(self) -> None:
        pass

    def waiting(self) -> Mapping[int, str]:
        return self.without_room

    def links(self) -> Mapping[str, str]:
        return {}


def ids(plan: PackingPlan) -> list[int]:
    return [container.id for container in plan.containers]


def plan(epoch: int, *containers: int) -> PackingPlan:
    return PackingPlan(
        "t", "test", tuple(ContainerPlan(each, (), Resources(1.0)) for each in containers), 1, epoch
    )


@pytest.fixture
def host(config: Config, state: StateManager) -> Iterator[Callable[[Scripted], None]]:
    path = create_launch(config, "t")
    execution = Execution(TopologyLaunch.read(path).execution, "me", 0.0, "0", "test", "scripted", "localfs")
    state.set(TREE.execution, msgspec.json.encode(execution))
    state.set(TREE.packing_plan, plan(1, 1, 2).to_json())
    state.set(TREE.scheduler, msgspec.json.encode(SchedulerNode.of_this_process({})))
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def run(scheduler: Scripted) -> None:
        scheduler.story.append(lambda: state.delete(TREE.execution))
        SchedulerLoop(str(path), state, scheduler).run(lambda: None)

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


def entering(state: StateManager, phase: Phase, packing: PackingPlan) -> Callable[[], object]:
    update = Update(number=1, epoch=packing.epoch, phase=phase, packing=packing)
    return lambda: state.set(TREE.update, update.to_json())


def test_new_containers_start_at_prepare_and_old_ones_end_with_the_old_packing(
    state: StateManager, host: Callable[[Scripted], None]
) -> None:
    after = plan(2, 1, 3)
    state.set(TREE.executor(2), msgspec.json.encode(ExecutorNode(7, 0)))
    state.set(TREE.stream_manager(2), b"{}")
    scheduler = Scripted(
        entering(state, "proposed", after),
        entering(state, "prepare", after),
        entering(state, "cut", after),
        entering(state, "release", after),
        lambda: state.set(TREE.packing_plan, after.to_json()),
        entering(state, "done", after),
    )
    host(scheduler)
    assert scheduler.told == [
        "schedule [1, 2]",
        "update [1, 2] [1, 2, 3]",
        "update [1, 2, 3] [1, 3]",
        "kill",
    ]
    # who gets the id of container 2 one day goes on counting
    assert state.children(f"{TREE.containers}/2") == ["executor"]
    assert not state.exists(TREE.update_failure)


def test_a_rolled_back_update_takes_its_containers_along(
    state: StateManager, host: Callable[[Scripted], None]
) -> None:
    after = plan(2, 1, 2, 3)
    scheduler = Scripted(*(entering(state, phase, after) for phase in ("prepare", "rollback", "rolled_back")))
    host(scheduler)
    assert scheduler.told == ["schedule [1, 2]", "update [1, 2] [1, 2, 3]", "update [1, 2, 3] [1, 2]", "kill"]


def test_a_scheduler_without_room_says_why_and_is_asked_once(
    state: StateManager, host: Callable[[Scripted], None]
) -> None:
    after = plan(5, 1, 2, 3)
    scheduler = Scripted(*(entering(state, phase, after) for phase in ("prepare", "prepare", "rolled_back")))
    scheduler.full = True
    host(scheduler)
    failure = msgspec.json.decode(state.get(TREE.update_failure).value, type=UpdateFailure)
    assert failure == UpdateFailure(5, "no room for a third container")
    # what it may have started before it failed ends with the rollback
    assert scheduler.told == ["schedule [1, 2]", "update [1, 2] [1, 2, 3]", "update [1, 2, 3] [1, 2]", "kill"]


def test_a_host_that_begins_in_the_middle_of_an_update_starts_both_plans(
    state: StateManager, host: Callable[[Scripted], None]
) -> None:
    entering(state, "load", plan(2, 1, 3))()
    scheduler = Scripted()
    host(scheduler)
    assert scheduler.told == ["schedule [1, 2, 3]", "kill"]


def test_who_waits_for_room_is_not_replaced_for_being_missed(
    state: StateManager, host: Callable[[Scripted], None]
) -> None:
    def miss() -> None:
        for container in (1, 2):
            request_replacement(state, "t", container, "not heard of for 60 s")

    scheduler = Scripted(miss, *[lambda: time.sleep(0.1)] * 5)
    scheduler.without_room = {2: "no slot"}
    host(scheduler)
    assert scheduler.told == ["schedule [1, 2]", "restart [1]", "kill"]


class TestMasterCutOff:
    """Container 0 on a machine that is cut off: nobody says that it ended, and its master cannot miss it."""

    @pytest.fixture
    def config(self, tmp_path: Path) -> Config:
        impatient = {"container.lost": "1s", "container.silence": "1s"}
        return load_config(environ={}, flags={"home": str(tmp_path), **impatient})

    def test_it_is_replaced(self, state: StateManager, host: Callable[[Scripted], None]) -> None:
        def wait_for_restart() -> None:
            if "restart [0]" not in scheduler.told:
                scheduler.story.insert(0, wait_for_restart)

        scheduler = Scripted(
            lambda: state.set(TREE.pulse(0), b""),
            lambda: time.sleep(0.3),
            lambda: state.delete(TREE.pulse(0)),
            wait_for_restart,
        )
        host(scheduler)
        assert scheduler.told == ["schedule [1, 2]", "restart [0]", "kill"]

    def test_one_that_was_never_heard_of_is_not_missed(
        self, state: StateManager, host: Callable[[Scripted], None]
    ) -> None:
        scheduler = Scripted(*[lambda: time.sleep(0.3)] * 6)
        host(scheduler)
        assert scheduler.told == ["schedule [1, 2]", "kill"]

    def test_one_that_was_given_up_is_not_missed(
        self, state: StateManager, host: Callable[[Scripted], None]
    ) -> None:
        def end_without_hope() -> None:
            state.delete(TREE.pulse(0))
            scheduler.exits = [ContainerExit(0, HOPELESS)]

        waits = [lambda: time.sleep(0.3)] * 6
        scheduler = Scripted(lambda: state.set(TREE.pulse(0), b""), waits[0], end_without_hope, *waits)
        host(scheduler)
        assert scheduler.told == ["schedule [1, 2]", "kill"]
