"""Which processes belong into a container, and how a scheduler is told to start one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from heronpy.container.executor.desired_children import wanted_children
from heronpy.container.executor.supervisor import DesiredChild
from heronpy.container.folders import create_launch, work_folder
from heronpy.container.scheduler.launcher import MASTER, TopologyLauncher
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    Resources,
    fused,
)

LARGE = Resources(cpu=2.0)
PLAN = PackingPlan(
    "t",
    "test",
    (
        ContainerPlan(1, (InstancePlan(1, "words", 0), InstancePlan(3, "count", 0)), LARGE),
        ContainerPlan(2, (InstancePlan(2, "words", 1),), Resources()),
    ),
    next_task=4,
)


def topology(fuse: str = "none", **words_config: str) -> LogicalPlan:
    words = Component("words", "spout", "m.Words", 2, config=dict(words_config))
    return LogicalPlan("t", (words, Component("count", "bolt", "m.Count", 1)), {"topology.fuse": fuse})


def test_container_zero_has_the_master_and_nothing_else() -> None:
    assert wanted_children(0, PLAN, topology(), "zygote") == [
        DesiredChild("topology_master", "topology-master")
    ]


def test_a_container_has_two_managers_and_its_instances() -> None:
    assert wanted_children(1, PLAN, topology(), "zygote") == [
        DesiredChild("stream_manager", "stream-manager-1"),
        DesiredChild("metrics_manager", "metrics-manager-1"),
        DesiredChild("instance", "words[0]", 1, (1,)),
        DesiredChild("instance", "count[0]", 3, (3,)),
    ]


def test_tasks_of_one_slot_are_one_process_that_starts_as_the_most_careful_of_them() -> None:
    together = tuple(InstancePlan(task, name, 0, slot=1) for task, name in ((1, "words"), (4, "count")))
    alone = InstancePlan(3, "count", 1)
    plan = msgspec.structs.replace(PLAN, containers=(ContainerPlan(1, (*together, alone), LARGE),))
    assert wanted_children(1, plan, topology(**{"heronpy.start": "spawn"}), "zygote")[2:] == [
        DesiredChild("instance", "words[0]", 1, (1, 4), "spawn"),
        DesiredChild("instance", "count[1]", 3, (3,), "zygote"),
    ]


def test_a_process_that_tasks_come_to_and_leave_is_called_by_its_container() -> None:
    plan = fused(topology("container"), PLAN)
    assert wanted_children(1, plan, topology("container"), "zygote")[2:] == [
        DesiredChild("instance", "tasks-1", 1, (1, 3))
    ]


def test_a_container_that_left_the_plan_keeps_its_managers() -> None:
    assert [each.role for each in wanted_children(9, PLAN, topology(), "zygote")] == [
        "stream_manager",
        "metrics_manager",
    ]


def test_a_component_may_choose_how_it_starts() -> None:
    def methods(plan: LogicalPlan, start: str) -> dict[str, str]:
        return {each.name: each.start for each in wanted_children(1, PLAN, plan, start) if each.tasks}

    assert methods(topology(), "spawn") == {"words[0]": "spawn", "count[0]": "spawn"}
    spawned = topology(**{"heronpy.start": "spawn"})
    assert methods(spawned, "zygote") == {"words[0]": "spawn", "count[0]": "zygote"}
    with pytest.raises(UserError, match=r"'words' has heronpy.start = 'forkserver'; it may be"):
        methods(topology(**{"heronpy.start": "forkserver"}), "zygote")


def test_the_launcher_says_all_that_a_scheduler_needs(config: Config) -> None:
    path = create_launch(config, "t")
    launcher = TopologyLauncher(str(path), TopologyLaunch.read(path), PLAN)

    launch = launcher.container(1)

    assert launcher.topology == "t"
    assert launch.argv[-4:] == ("-m", "heronpy.container.executor.main", str(path), "1")
    assert launch.files == (str(path),)
    assert launch.resources == LARGE
    assert launch.log_folder == str(work_folder(config, "t") / "logs")
    assert launcher.container(0).resources == MASTER


def test_a_launch_has_private_folders_and_a_name_of_its_own(config: Config) -> None:
    first = TopologyLaunch.read(create_launch(config, "t"))
    Path(first.sockets).rmdir()
    second = TopologyLaunch.read(create_launch(config, "t"))
    assert first.execution != second.execution
    for folder in (second.work, second.sockets, str(second.logs)):
        assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert (Path(second.work) / "launch.json").stat().st_mode & 0o777 == 0o600
    # the longest name of a socket in it must fit
    assert len(f"{second.container_sockets(9999)}/stream_manager-18446744073709551615.sock") <= 107
    Path(second.sockets).rmdir()
