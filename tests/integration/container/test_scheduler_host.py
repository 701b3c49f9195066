"""The scheduler's process with real containers: it survives, adopts, restarts and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.running.cpu import cpu_seconds

from heronpy.container.folders import create_launch, launch_file, work_folder
from heronpy.container.processes.detached import start_detached
from heronpy.container.scheduler import scheduler_host
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.container.teardown import kill_topology
from heronpy.container.watchdog.scheduler_watch import SCHEDULER_HOST
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import NodeMissing, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.processes import boot_id, process, processes
from heronpy.kernel.plans import ContainerPlan, LogicalPlan, PackingPlan, Resources
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.tree.paths import Execution, ExecutorNode, Live, Tree
from heronpy.kernel.tree.requests import request_replacement, request_restart
from heronpy.testing.waiting import eventually

pytestmark = pytest.mark.cluster

NAME = "hosted"
TREE = Tree(NAME)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(os.devnull, environ={}, flags={"home": str(tmp_path), "kill.timeout": "3s"})


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = Registry.load().state_manager("localfs")()
    manager.initialize(config)
    yield manager
    manager.close()


@pytest.fixture
def launch(config: Config, state: StateManager) -> Iterator[TopologyLaunch]:
    """A topology with containers 1 and 2, written but not started; whatever is left of it goes at the end."""
    path = create_launch(config, NAME)
    launch = TopologyLaunch.read(path)
    write_tree(state, launch.execution, "local")
    yield launch
    kill_topology(config, state, NAME, 3.0)
    assert leftovers(launch) == []


@pytest.fixture
def running(config: Config, state: StateManager, launch: TopologyLaunch) -> TopologyLaunch:
    """The same, started."""
    scheduler_host.start(launch_file(config, NAME))
    eventually(lambda: len(executors(state)) == 3)
    return launch


def write_tree(state: StateManager, execution: str, scheduler: str) -> None:
    containers = tuple(ContainerPlan(each, (), Resources()) for each in (1, 2))
    record = Execution(execution, "me", 0.0, "0", "test", scheduler, "localfs")
    state.set(TREE.execution, msgspec.json.encode(record))
    state.set(TREE.definition, LogicalPlan(NAME, ()).to_json())
    state.set(TREE.live, msgspec.json.encode(Live("RUNNING")))
    state.set(TREE.packing_plan, PackingPlan(NAME, "test", containers, next_task=1).to_json())


def executors(state: StateManager) -> dict[int, int]:
    """Pids of the executors that say they run and do."""
    found = {}
    for container in (0, 1, 2):
        try:
            pid = msgspec.json.decode(state.get(TREE.executor(container)).value, type=ExecutorNode).pid
        except NodeMissing:
            continue
        if alive(pid):
            found[container] = pid
    return found


def host_pid(state: StateManager) -> int:
    try:
        return msgspec.json.decode(state.get(TREE.scheduler).value, type=SchedulerNode).pid
    except NodeMissing:
        return 0


def alive(pid: int) -> bool:
    found = process(pid) if pid else None
    return found is not None and found.alive


def leftovers(launch: TopologyLaunch) -> list[int]:
    """Processes that have the topology's folder in their command line."""
    found = []
    for each in processes():
        try:
            command = Path(f"/proc/{each.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if each.alive and os.fsencode(launch.work) in command:
            found.append(each.pid)
    return found


def assert_nothing_left(state: StateManager, launch: TopologyLaunch) -> None:
    assert leftovers(launch) == []
    assert not state.exists(TREE.root)
    assert not Path(launch.work).exists()
    assert not Path(launch.sockets).exists()


def test_kill_leaves_no_process_file_socket_or_node(
    config: Config, state: StateManager, running: TopologyLaunch
) -> None:
    assert msgspec.json.decode(state.get(TREE.scheduler).value, type=SchedulerNode).links == {
        "logs": str(running.logs)
    }
    assert kill_topology(config, state, NAME, 3.0)
    assert_nothing_left(state, running)
    assert not kill_topology(config, state, NAME, 3.0)


def test_kill_can_leave_the_logs(config: Config, state: StateManager, running: TopologyLaunch) -> None:
    assert kill_topology(config, state, NAME, 3.0, keep_logs=True)
    assert [path.name for path in Path(running.work).iterdir()] == ["logs"]
    assert (running.logs / "container-1.log").exists()
    assert not kill_topology(config, state, NAME, 3.0)


def test_a_killed_executor_is_restarted_and_others_are_not(
    state: StateManager, running: TopologyLaunch
) -> None:
    before = executors(state)
    os.kill(before[1], signal.SIGKILL)
    eventually(lambda: executors(state).get(1, before[1]) != before[1])
    after = executors(state)
    assert {each: after[each] for each in (0, 2)} == {each: before[each] for each in (0, 2)}


def test_restart_of_one_container_raises_its_incarnation_and_touches_no_other(
    state: StateManager, running: TopologyLaunch
) -> None:
    before = executors(state)
    request_restart(state, NAME, 2, timeout=20)
    eventually(lambda: executors(state).get(2, before[2]) != before[2])
    assert {each: executors(state)[each] for each in (0, 1)} == {each: before[each] for each in (0, 1)}
    node = msgspec.json.decode(state.get(TREE.executor(2)).value, type=ExecutorNode)
    assert node.incarnation == 2
    assert state.children(TREE.requests) == []


def test_a_container_that_ends_again_and_again_is_given_up_until_somebody_restarts_it(
    config: Config, state: StateManager, launch: TopologyLaunch
) -> None:
    strict = Config({**config, "container.restart_attempts": 2}, {})
    impatient = msgspec.structs.replace(launch, config=strict.to_plain())
    launch_file(config, NAME).write_bytes(impatient.to_json())
    scheduler_host.start(launch_file(config, NAME))
    for _ in range(3):
        eventually(lambda: len(executors(state)) == 3)
        os.kill(executors(state)[1], signal.SIGKILL)
        eventually(lambda: 1 not in executors(state))
    eventually(lambda: state.exists(TREE.given_up(1)))
    assert state.get(TREE.given_up(1)).value == b"given up after 2 restarts in a row: signal 9"
    request_replacement(state, NAME, 1, "not heard of for 60 s")
    eventually(lambda: state.children(TREE.requests) == [])
    assert sorted(executors(state)) == [0, 2]

    request_restart(state, NAME, 1, timeout=20)
    eventually(lambda: len(executors(state)) == 3)
    assert not state.exists(TREE.given_up(1))


def test_a_replacement_that_the_master_asked_for_is_made_once(
    state: StateManager, running: TopologyLaunch
) -> None:
    before = executors(state)
    request_replacement(state, NAME, 1, "not heard of for 60 s")
    request_replacement(state, NAME, 9, "not heard of for 60 s")
    eventually(lambda: executors(state).get(1, before[1]) != before[1])
    eventually(lambda: state.children(TREE.requests) == [])
    node = msgspec.json.decode(state.get(TREE.executor(1)).value, type=ExecutorNode)
    assert node.incarnation == 2
    assert {each: executors(state)[each] for each in (0, 2)} == {each: before[each] for each in (0, 2)}
    assert "container 1 ended (not heard of for 60 s)" in (running.logs / "scheduler.log").read_text()


def test_restart_of_a_container_that_is_not_there(state: StateManager, running: TopologyLaunch) -> None:
    with pytest.raises(UserError, match="there is no container 9; it has 0, 1, 2"):
        request_restart(state, NAME, 9, timeout=20)


def test_containers_outlive_the_scheduler_process_and_the_next_one_adopts_them(
    state: StateManager, running: TopologyLaunch
) -> None:
    before, host = executors(state), host_pid(state)
    os.kill(host, signal.SIGKILL)
    # container 0 starts it again
    eventually(lambda: host_pid(state) not in (0, host))
    os.kill(before[1], signal.SIGKILL)
    eventually(lambda: executors(state).get(1, before[1]) != before[1])
    after = executors(state)
    assert {each: after[each] for each in (0, 2)} == {each: before[each] for each in (0, 2)}


def test_kill_works_when_scheduler_and_master_container_are_gone(
    config: Config, state: StateManager, running: TopologyLaunch
) -> None:
    os.kill(host_pid(state), signal.SIGKILL)
    os.kill(executors(state)[0], signal.SIGKILL)
    assert kill_topology(config, state, NAME, 3.0)
    assert_nothing_left(state, running)


def test_kill_does_not_wait_for_a_scheduler_process_that_is_stopped(
    config: Config, state: StateManager, running: TopologyLaunch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heronpy.container.teardown.HOST_SECONDS", 3600.0)
    host = host_pid(state)
    os.kill(host, signal.SIGSTOP)
    eventually(lambda: (seen := process(host)) is not None and seen.stopped)
    assert kill_topology(config, state, NAME, 0.2)
    assert_nothing_left(state, running)


def test_kill_works_when_the_scheduler_process_does_not_answer(
    config: Config, state: StateManager, launch: TopologyLaunch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOST_SECONDS", "NODE_SECONDS"):
        monkeypatch.setattr(f"heronpy.container.teardown.{name}", 0.2)
    with subprocess.Popen(["sleep", "1000"]) as deaf:
        seen = process(deaf.pid)
        assert seen is not None
        node = SchedulerNode(seen.pid, socket.gethostname(), seen.started, boot_id())
        state.create(TREE.scheduler, msgspec.json.encode(node))
        assert kill_topology(config, state, NAME, 0.2)
        assert deaf.wait(10) == -signal.SIGKILL
    assert not state.exists(TREE.root)
    assert leftovers(launch) == []


def test_kill_waits_for_a_scheduler_process_that_was_started_a_moment_before(
    config: Config, state: StateManager, launch: TopologyLaunch
) -> None:
    start_detached([*SCHEDULER_HOST, str(launch_file(config, NAME))], launch.logs / "scheduler.log")
    assert len(leftovers(launch)) == 1
    assert kill_topology(config, state, NAME, 3.0)
    assert_nothing_left(state, launch)


def test_no_scheduler_process_is_started_for_a_topology_whose_kill_has_begun(
    config: Config, state: StateManager, launch: TopologyLaunch
) -> None:
    write_tree(state, launch.execution, "lokal")
    with pytest.raises(UserError, match="no scheduler plugin named 'lokal'"):
        kill_topology(config, state, NAME, 3.0)
    write_tree(state, launch.execution, "local")
    with pytest.raises(UserError, match="topology 'hosted' is being killed"):
        scheduler_host.start(launch_file(config, NAME))
    assert executors(state) == {}


def test_a_second_host_leaves_the_topology_to_the_first(
    config: Config, state: StateManager, running: TopologyLaunch
) -> None:
    before, host = executors(state), host_pid(state)
    scheduler_host.start(launch_file(config, NAME))
    assert host_pid(state) == host
    assert executors(state) == before


def test_a_host_that_cannot_start_says_why(
    config: Config, state: StateManager, launch: TopologyLaunch
) -> None:
    write_tree(state, launch.execution, "lokal")
    with pytest.raises(UserError, match=r"^no scheduler plugin named 'lokal'; did you mean 'local'\?$"):
        scheduler_host.start(launch_file(config, NAME))
    eventually(lambda: leftovers(launch) == [])
    write_tree(state, launch.execution, "local")


def test_a_scheduler_that_cannot_start_containers_says_why(
    config: Config, state: StateManager, launch: TopologyLaunch
) -> None:
    in_the_way = Path(launch.work) / "containers"
    in_the_way.write_text("not a folder")
    with pytest.raises(UserError, match=re.escape(f"File exists: '{in_the_way}'")):
        scheduler_host.start(launch_file(config, NAME))
    eventually(lambda: host_pid(state) == 0)
    assert leftovers(launch) == []
    in_the_way.unlink()


def test_kill_clears_what_a_failed_submit_left(config: Config, state: StateManager) -> None:
    state.set(TREE.execution, b"not json")
    assert kill_topology(config, state, NAME, 1.0)
    assert not state.exists(TREE.root)

    path = create_launch(config, NAME)
    sockets = Path(TopologyLaunch.read(path).sockets)
    assert sockets.exists()
    assert kill_topology(config, state, NAME, 1.0)
    assert not sockets.exists()
    assert not work_folder(config, NAME).exists()


def test_an_idle_host_uses_no_cpu(state: StateManager, running: TopologyLaunch) -> None:
    host = host_pid(state)
    time.sleep(0.5)
    before = cpu_seconds(host)
    time.sleep(1.0)
    assert cpu_seconds(host) - before < 0.02
