"""The simulator is evidence only as long as it drives the very classes that production runs."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
import support.simulation.instance as simulated_instance
import support.simulation.manager as simulated_manager
from support.simulation.cluster import Cluster
from support.simulation.run import run_schedule
from support.simulation.shapes import bulk_shape
from support.simulation.world import World

import heronpy.stream_manager.main as manager_main
from heronpy.instances import acking
from heronpy.instances.input import inflow
from heronpy.instances.output import outbox
from heronpy.instances.process import lifecycle, task_lifecycle
from heronpy.instances.task import build, frame_dispatch
from heronpy.kernel.flow import credit, peer_link
from heronpy.kernel.master.knowledge import board, tuple_losses
from heronpy.stream_manager import exits, forwarder, inbound


@pytest.mark.parametrize(
    ("simulated", "real", "names"),
    [
        (simulated_instance, task_lifecycle, ["build_task", "Task"]),
        (simulated_instance, lifecycle, ["OneTask", "SocketLink"]),
        (simulated_manager, manager_main, ["Forwarder", "Peers", "Residents", "Registration", "Tree"]),
    ],
)
def test_simulated_processes_are_made_of_what_real_ones_are_made_of(
    simulated: ModuleType, real: ModuleType, names: list[str]
) -> None:
    for name in names:
        assert vars(simulated)[name] is vars(real)[name]


def test_the_parts_of_a_running_world_are_the_engines_own() -> None:
    world = World(1)
    cluster = Cluster(world, bulk_shape(10))
    try:
        world.run(0.1)
        assert type(cluster.losses) is tuple_losses.TupleLosses is vars(board)["TupleLosses"]
        manager = cluster.managers[0].forwarder
        assert type(manager) is forwarder.Forwarder
        assert type(manager._inbound) is inbound.Inbound
        assert {type(way) for way in manager._exits.values()} == {exits.InstanceExit, exits.PeerExit}
        assert {type(way._link) for way in manager._by_container.values()} == {peer_link.LinkSender}
        for instance in cluster.instances:
            parts = instance.task.parts
            assert type(instance.task) is build.Task
            assert type(parts.inflow) is inflow.Inflow
            assert type(parts.outbox) is outbox.Outbox
            assert {type(one) for one in parts.inflow._channels.values()} <= {credit.Receiving}
            assert {type(one.spending) for one in parts.outbox._channels.values()} <= {credit.Spending}
            assert inspect.ismethod(instance.task.on_frame)
            assert type(instance.task.on_frame.__self__) is frame_dispatch.FrameDispatch
    finally:
        world.close()


def test_trees_are_the_engines_own() -> None:
    made: list[object] = []
    real = acking.roots.Roots.__init__

    def note(self: acking.roots.Roots, *args: object, **named: object) -> None:
        made.append(self)
        real(self, *args, **named)  # type: ignore[arg-type]

    acking.roots.Roots.__init__ = note  # type: ignore[method-assign]
    try:
        run_schedule(1)
    finally:
        acking.roots.Roots.__init__ = real  # type: ignore[method-assign]
    assert made
