"""A Stream Manager follows the state tree through updates, whatever of it it gets to see."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.tasks.plans import edge, plan_of

from heronpy.kernel.config import load_config
from heronpy.kernel.flow.frame import DATA, Prefix, seal
from heronpy.kernel.launch import Child, TopologyLaunch
from heronpy.kernel.machine.addresses import DATA_SOCKET, process_identity, socket_path
from heronpy.kernel.plans import PackingPlan, PhysicalPlan
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.transport import Reactor, Router, Transport
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.update import Phase, Update
from heronpy.stream_manager.main import StreamManager

TREE = Tree("wordcount")
#: words (task 1) in container 1; by the next plan count[2] (task 4) is in a container of its own
NOW = plan_of(edge("shuffle"), par=2)
NEXT = msgspec.structs.replace(plan_of(edge("shuffle"), par=3, containers=4), epoch=2)
NEWCOMER, ELSEWHERE = 4, 4
#: seconds for a handshake on a busy machine
PATIENCE = 10.0


class Stage:
    """Container 1, whose Stream Manager reads the tree when it is told to, and container 4, which is new."""

    def __init__(self, folder: Path) -> None:
        config = load_config(environ={}, flags={"home": str(folder)})
        sockets = folder / "s"
        (sockets / "1").mkdir(mode=0o700, parents=True)
        launch = TopologyLaunch("wordcount", "x", config.to_plain(), str(folder), str(sockets))
        self.state = open_state(config)
        self.put_in_force(NOW)
        self.reactor, self.here, self.there = Reactor(), Transport(), Transport()
        child = Child("stream_manager", "stream-manager", container=1, incarnation=1, lifeline=-1)
        self.manager = StreamManager(launch, child, config, self.state, self.reactor, self.here)
        self.manager.startup()
        self.far = self._start_elsewhere()
        self.words = self.here.dealer_local(
            socket_path(launch.container_sockets(1), DATA_SOCKET), process_identity(1, 1)
        )

    def _start_elsewhere(self) -> Router:
        self.there.gatekeeper.allow([self.here.keys.public])
        far = self.there.router_tcp()
        self.there.gatekeeper.serve(self.reactor)
        registration = Registration(self.there.keys.public, 1, far.endpoint)
        self.state.set(TREE.stream_manager(ELSEWHERE), msgspec.json.encode(registration))
        return far

    def put_in_force(self, plan: PhysicalPlan) -> None:
        self.state.set(TREE.physical_plan, plan.to_json())

    def write_update(self, phase: Phase, number: int) -> None:
        packing = PackingPlan("wordcount", "test", (), 1)
        self.state.set(TREE.next_plan, NEXT.to_json())
        update = Update(number=number, epoch=NEXT.epoch, phase=phase, packing=packing)
        self.state.set(TREE.update, update.to_json())

    def arrives(self, payload: bytes) -> bool:
        """Whether a frame for the newcomer gets out of here."""
        prefix = Prefix(DATA, NEWCOMER, 1, 0, 1, NEXT.epoch, 1, 0, 0)
        self.words.send(seal(prefix, payload))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.reactor.turn(0.01)
            parts = self.far.receive()
            if parts is not None and parts[-1] == payload:
                return True
        return False

    def close(self) -> None:
        self.here.close()
        self.there.close()
        self.reactor.close()
        self.state.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def test_a_stream_manager_that_has_missed_the_release_still_reaches_who_came_with_it(stage: Stage) -> None:
    stage.write_update("load", 1)
    stage.manager._refresh()
    assert stage.arrives(b"as soon as both plans are known")
    stage.put_in_force(NEXT)
    stage.write_update("done", 2)
    stage.manager._refresh()
    assert stage.arrives(b"when the next is in force")


def test_instances_get_a_long_plan_compressed(stage: Stage) -> None:
    plan = plan_of(edge("shuffle"), par=2_000, containers=4)
    stage.put_in_force(plan)
    stage.manager._refresh()
    notice = stage.manager._take_plan(msgspec.json.encode(plan))
    assert PhysicalPlan.from_json(notice.plan) == plan
    assert len(notice.plan) < len(msgspec.json.encode(plan)) / 4
