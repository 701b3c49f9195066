"""A real executor with real children, whose roles are small functions."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.faults.damage import value_file
from support.running.cpu import cpu_seconds

from heronpy.container.executor.main import FENCED
from heronpy.container.folders import create_launch
from heronpy.container.processes.roles import ROLES
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeMissing
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.processes import process, processes
from heronpy.kernel.plans import Component, ContainerPlan, InstancePlan, LogicalPlan, PackingPlan, Resources
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Execution, ExecutorNode, Tree
from heronpy.kernel.tree.update import Phase, Update
from heronpy.testing.waiting import eventually

TOY_ROLES = '''
import os, select, signal, subprocess
from pathlib import Path

from heronpy.kernel.liveness.lifeline import beat


def run(launch, child):
    """Lives until its lifeline or SIGTERM says otherwise; a file named after it makes it crash."""
    folder = Path(launch.work)
    print(f"{child.name} incarnation {child.incarnation} tasks {child.tasks}")
    with (folder / "started").open("a") as started:
        started.write(f"{child.name} {os.getpid()} {child.incarnation}\\n")
    if (folder / f"{child.name}.crash").exists():
        raise RuntimeError("told to crash")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if (folder / f"{child.name}.helper").exists():
        helper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        (folder / f"{child.name}.helper").write_text(str(helper.pid))
    if (folder / f"{child.name}.worker").exists():
        worker = subprocess.Popen(["sleep", "1000"])
        (folder / f"{child.name}.worker").write_text(str(worker.pid))
    if (folder / f"{child.name}.stubborn").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while not select.select([child.lifeline], [], [], 0.1)[0]:
        beat(child.lifeline)
    return 7
'''
TOYS = dict.fromkeys(ROLES, "toy_roles")


class Topology:
    """What a submit leaves behind, minus the scheduler."""

    def __init__(self, config: Config, state: StateManager, name: str) -> None:
        self.config = config
        self.state = state
        self.name = name
        self.launch_file = create_launch(config, name)
        self.work = self.launch_file.parent
        (self.work / "toy_roles.py").write_text(TOY_ROLES)

    def publish(self, plan: PackingPlan) -> None:
        components = {instance.component for instance in plan.instances()}
        logical = LogicalPlan(
            self.name, tuple(Component(each, "spout", "x.Y", 1) for each in sorted(components))
        )
        launch = TopologyLaunch.read(self.launch_file)
        execution = Execution(launch.execution, "me", 0.0, "0", "test", "local", "localfs")
        tree = Tree(self.name)
        self.state.set(tree.execution, msgspec.json.encode(execution))
        self.state.set(tree.definition, logical.to_json())
        self.state.set(tree.packing_plan, plan.to_json())

    def started(self) -> list[tuple[str, int, int]]:
        """Name, pid and incarnation of every start of a toy child, oldest first."""
        try:
            lines = (self.work / "started").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [(name, int(pid), int(number)) for name, pid, number in map(str.split, lines)]

    def node(self) -> ExecutorNode:
        value = self.state.get(Tree(self.name).executor(1)).value
        return msgspec.json.decode(value, type=ExecutorNode)

    def running(self) -> dict[str, int]:
        """Pids of the children that run, as the state tree has them."""
        try:
            children = self.node().children
        except NodeMissing:
            return {}
        return {name: child.pid for name, child in children.items() if child.state == "running"}

    def settle(self) -> None:
        """Wait until four children run and have said so themselves."""
        eventually(lambda: len(self.running()) == 4 and len(self.started()) >= 4)

    @contextlib.contextmanager
    def executor(self, container: int) -> Iterator[subprocess.Popen[bytes]]:
        zygote, child = self.command("zygote"), self.command("child")
        program = (
            f"import sys; sys.path.append({str(self.work)!r});"
            "from heronpy.container.executor.main import main;"
            f"sys.exit(main(sys.argv[1:], {TOYS!r}, {zygote!r}, {child!r}))"
        )
        argv = [sys.executable, "-P", "-c", program, str(self.launch_file), str(container)]
        with subprocess.Popen(argv, start_new_session=True) as running:
            try:
                yield running
            finally:
                # a test that failed may have left it stopped, or some of those below it
                running.send_signal(signal.SIGCONT)
                running.terminate()
                try:
                    running.wait(20)
                finally:
                    self._kill_session(running.pid)

    def _kill_session(self, leader: int) -> None:
        for each in processes():
            if each.session == leader and each.alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGKILL)

    def command(self, module: str) -> list[str]:
        """A command line like `python -m module`, with toy roles."""
        program = (
            f"import sys; sys.path.append({str(self.work)!r});"
            f"from heronpy.container.processes.{module} import main; main(sys.argv[1:], {TOYS!r})"
        )
        return [sys.executable, "-P", "-c", program]


def one_container(name: str, **counts: int) -> PackingPlan:
    """A plan with container 1, which holds so many instances of each component."""
    pairs = [(component, index) for component, count in counts.items() for index in range(count)]
    instances = tuple(InstancePlan(task, *pair) for task, pair in enumerate(pairs, start=1))
    return PackingPlan(name, "test", (ContainerPlan(1, instances, Resources()),), len(pairs) + 1)


def alive(pid: int) -> bool:
    found = process(pid)
    return found is not None and found.alive


def children_of(pid: int) -> set[int]:
    return {each.pid for each in processes() if each.parent == pid}


@pytest.fixture
def topology(config: Config, state: StateManager) -> Topology:
    return Topology(config, state, "words")


@pytest.fixture
def executor(topology: Topology) -> Iterator[subprocess.Popen[bytes]]:
    """Container 1 with two instances of `words`, up and running."""
    topology.publish(one_container("words", words=2))
    with topology.executor(1) as running:
        yield running


def test_its_own_node_is_mended_though_no_event_told_that_a_disk_had_damaged_it(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    path = Tree(topology.name).executor(1)
    file = value_file(Path(topology.config.text("home")), path)
    whole = topology.node()

    def is_whole() -> bool:
        try:
            return topology.node() == whole
        except DamagedNode:
            return False

    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        # Through memory, which inotify does not report; and it would report that the file is closed.
        mapped[len(mapped) // 2] ^= 1
        assert not is_whole()
        eventually(is_whole)
    assert executor.poll() is None


def test_children_start_and_are_told_of(topology: Topology, executor: subprocess.Popen[bytes]) -> None:
    topology.settle()

    started = {name: (pid, incarnation) for name, pid, incarnation in topology.started()}
    node = topology.node()
    assert set(started) == {"stream-manager-1", "metrics-manager-1", "words[0]", "words[1]"}
    assert {name: child.pid for name, child in node.children.items()} == {
        name: pid for name, (pid, _) in started.items()
    }
    assert node.pid == executor.pid
    assert node.incarnation == 1
    assert sorted(incarnation for _, incarnation in started.values()) == [1 << 20 | n for n in (1, 2, 3, 4)]
    assert {child.last_exit for child in node.children.values()} == {""}
    eventually(lambda: "tasks (2,)" in (topology.work / "logs" / "words[1].log").read_text())


def test_a_killed_child_is_started_again_and_others_are_not(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    before = topology.running()

    os.kill(before["words[1]"], signal.SIGKILL)
    eventually(lambda: topology.running().get("words[1]", before["words[1]"]) != before["words[1]"])

    after = topology.running()
    assert {name for name in after if after[name] != before[name]} == {"words[1]"}
    child = topology.node().children["words[1]"]
    assert child.restarts == 1
    assert child.last_exit == "signal 9 (killed)"
    assert topology.started()[-1] == ("words[1]", child.pid, 1 << 20 | 5)


def test_a_child_that_crashes_at_once_backs_off_and_its_log_says_why(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    (topology.work / "words[0].crash").touch()
    os.kill(topology.running()["words[0]"], signal.SIGKILL)

    eventually(lambda: topology.node().children["words[0]"].restarts >= 3)

    child = topology.node().children["words[0]"]
    assert child.last_exit == "exit 70"
    assert "RuntimeError: told to crash" in (topology.work / "logs" / "words[0].log").read_text()
    (topology.work / "words[0].crash").unlink()
    eventually(lambda: "words[0]" in topology.running())


def test_sigterm_ends_everybody_and_clears_the_sockets(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    pids = [pid for _, pid, _ in topology.started()]
    sockets = TopologyLaunch.read(topology.launch_file).container_sockets(1)
    assert sockets.stat().st_mode & 0o777 == 0o700

    executor.terminate()

    assert executor.wait(10) == 0
    assert [process(pid) for pid in pids] == [None] * 4
    assert not sockets.exists()
    ended = topology.node()
    assert (ended.incarnation, ended.pid, ended.children) == (1, 0, {})


def test_the_zygote_is_forked_and_keeps_only_its_socket(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    (zygote,) = children_of(executor.pid) - set(topology.running().values())
    title = Path(f"/proc/{zygote}/cmdline").read_bytes()
    assert title.startswith(b"heronpy: words zygote (container 1)\0")
    others = [Path(f"/proc/{zygote}/fd/{each}").readlink() for each in os.listdir(f"/proc/{zygote}/fd")]
    # its output is the executor's, which may be any kind of file
    assert len(others) == 4
    assert len([each for each in others if str(each).startswith("socket:")]) >= 1


def test_the_death_of_the_zygote_is_noticed_by_nobody(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    before = topology.running()
    (zygote,) = children_of(executor.pid) - set(before.values())

    os.kill(zygote, signal.SIGKILL)
    eventually(lambda: process(zygote) is None)
    assert topology.running() == before

    os.kill(before["words[0]"], signal.SIGKILL)
    eventually(lambda: topology.running().get("words[0]", before["words[0]"]) != before["words[0]"])
    assert {name for name, pid in topology.running().items() if pid != before[name]} == {"words[0]"}


def test_a_start_that_a_dead_zygote_took_along_is_made_again_once(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    before = topology.running()
    (zygote,) = children_of(executor.pid) - set(before.values())
    os.kill(zygote, signal.SIGSTOP)
    os.kill(before["words[0]"], signal.SIGKILL)
    eventually(lambda: topology.node().children["words[0]"].state == "waiting")

    os.kill(zygote, signal.SIGKILL)
    eventually(lambda: "words[0]" in topology.running())

    def alive_ones() -> list[int]:
        return [pid for name, pid, _ in topology.started() if name == "words[0]" and alive(pid)]

    eventually(alive_ones)
    assert alive_ones() == [topology.running()["words[0]"]]


def test_what_a_child_left_behind_ends_with_the_container(topology: Topology) -> None:
    helper = topology.work / "words[0].helper"
    helper.touch()
    topology.publish(one_container("words", words=1))
    with topology.executor(1) as running:
        eventually(helper.read_text)
        assert alive(int(helper.read_text()))
        running.terminate()
        assert running.wait(10) == 0
    assert not alive(int(helper.read_text()))


def test_children_end_when_their_executor_is_killed(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    executor.kill()
    executor.wait()
    eventually(lambda: not any(alive(pid) for _, pid, _ in topology.started()))


def test_workers_of_a_child_that_crashes_do_not_pile_up(topology: Topology) -> None:
    note = topology.work / "words[0].worker"
    note.touch()
    topology.publish(one_container("words", words=1))
    with topology.executor(1):
        eventually(note.read_text)
        eventually(lambda: "words[0]" in topology.running())
        worker = int(note.read_text())
        assert alive(worker)
        os.kill(topology.running()["words[0]"], signal.SIGKILL)
        eventually(lambda: not alive(worker))
        eventually(lambda: note.read_text() not in ("", str(worker)))


def test_a_new_plan_starts_and_ends_only_what_differs(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    before = topology.running()

    topology.publish(one_container("words", words=1, zebra=2))
    eventually(lambda: {"zebra[0]", "zebra[1]"} <= set(topology.running()))
    eventually(lambda: not alive(before["words[1]"]))

    after = topology.running()
    assert set(after) == {"stream-manager-1", "metrics-manager-1", "words[0]", "zebra[0]", "zebra[1]"}
    assert {name: after[name] for name in after if name in before} == {
        name: before[name] for name in before if name != "words[1]"
    }


def test_during_an_update_both_plans_have_their_children_and_nobody_who_stays_is_touched(
    topology: Topology, executor: subprocess.Popen[bytes]
) -> None:
    topology.settle()
    before = topology.running()
    # words[1], task 2, is to retire
    instances = (InstancePlan(1, "words", 0), InstancePlan(3, "zebra", 0))
    coming = PackingPlan("words", "test", (ContainerPlan(1, instances, Resources()),), 4, epoch=2)

    def enter(number: int, phase: Phase) -> None:
        update = Update(number=number, epoch=2, phase=phase, packing=coming)
        topology.state.set(Tree("words").update, update.to_json())

    enter(1, "proposed")
    enter(2, "prepare")
    eventually(lambda: set(topology.running()) == {*before, "zebra[0]"})
    enter(3, "rollback")
    eventually(lambda: topology.running() == before)
    enter(4, "rolled_back")
    enter(5, "prepare")
    eventually(lambda: len(topology.running()) == 5)
    enter(6, "cut")
    enter(7, "load")
    enter(8, "release")
    new = topology.running()["zebra[0]"]
    assert topology.running() == {**before, "zebra[0]": new}
    topology.state.set(Tree("words").packing_plan, coming.to_json())
    eventually(lambda: "words[1]" not in topology.running())
    enter(9, "done")
    del before["words[1]"]
    assert topology.running() == {**before, "zebra[0]": new}


def test_a_second_executor_fences_the_first(topology: Topology, executor: subprocess.Popen[bytes]) -> None:
    topology.settle()
    first = [pid for _, pid, _ in topology.started()]

    with topology.executor(1) as second:
        assert executor.wait(20) == FENCED
        eventually(lambda: len(topology.running()) == 4)
        assert topology.node().pid == second.pid
        assert topology.node().incarnation == 2
        assert TopologyLaunch.read(topology.launch_file).container_sockets(1).exists()
        assert not any(alive(pid) for pid in first)


def test_a_stopped_executor_that_was_replaced_kills_its_children_at_once_when_it_comes_back(
    config: Config, state: StateManager
) -> None:
    topology = Topology(Config({**config, "kill.timeout": 100.0}, {}), state, "words")
    for name in ("words[0]", "stream-manager-1"):
        (topology.work / f"{name}.stubborn").touch()
    topology.publish(one_container("words", words=2))
    with topology.executor(1) as first:
        topology.settle()
        zombies = [pid for _, pid, _ in topology.started()]
        with (topology.work.parents[1] / "state" / "@lock").open("r+") as lock:
            # not while it holds the lock of the state tree itself: that is another story
            fcntl.flock(lock, fcntl.LOCK_EX)
            for pid in (first.pid, *zombies):
                os.kill(pid, signal.SIGSTOP)
        (topology.work / "words[0].stubborn").unlink()
        (topology.work / "stream-manager-1.stubborn").unlink()
        with topology.executor(1):
            eventually(lambda: topology.node().incarnation == 2 and len(topology.running()) == 4)
            successors = topology.running()
            for pid in (*zombies, first.pid):
                os.kill(pid, signal.SIGCONT)
            assert first.wait(20) == FENCED
            assert not any(alive(pid) for pid in zombies)
            assert topology.running() == successors


@pytest.fixture
def impatient(config: Config, state: StateManager) -> Iterator[tuple[Topology, subprocess.Popen[bytes]]]:
    """A container whose children may be silent for two seconds."""
    topology = Topology(Config({**config, "container.silence": 2.0}, {}), state, "impatient")
    topology.publish(one_container("impatient", words=2))
    with topology.executor(1) as running:
        topology.settle()
        time.sleep(0.5)  # several beats: before the first of them they would have longer
        yield topology, running


def test_a_child_that_gives_no_sign_of_life_is_killed_and_replaced(
    impatient: tuple[Topology, subprocess.Popen[bytes]],
) -> None:
    topology, _ = impatient
    before = topology.running()
    os.kill(before["words[0]"], signal.SIGSTOP)
    eventually(lambda: topology.node().children["words[0]"].state == "silent")
    eventually(lambda: topology.running().get("words[0]", before["words[0]"]) != before["words[0]"])
    child = topology.node().children["words[0]"]
    assert (child.restarts, child.last_exit) == (1, "silent for 2 s, killed")
    assert process(before["words[0]"]) is None
    time.sleep(1.5)
    after = topology.running()
    assert {name for name in after if after[name] != before[name]} == {"words[0]"}


def test_an_executor_that_stood_still_itself_kills_nobody(
    impatient: tuple[Topology, subprocess.Popen[bytes]],
) -> None:
    topology, executor = impatient
    before = topology.running()
    for pid in (executor.pid, *before.values()):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3.5)
    for pid in (executor.pid, *before.values()):
        os.kill(pid, signal.SIGCONT)
    time.sleep(1.5)
    assert topology.running() == before
    assert {child.restarts for child in topology.node().children.values()} == {0}


def test_spawned_children_run_the_same_code(config: Config, state: StateManager) -> None:
    values = {**config, "container.start": "spawn"}
    topology = Topology(Config(values, {}), state, "spawned")
    topology.publish(one_container("spawned", words=2))
    with topology.executor(1):
        eventually(lambda: {"words[0]", "words[1]"} <= topology.running().keys())
        pids = [topology.running()[f"words[{index}]"] for index in (0, 1)]
        # what a forked one has in common with its parent
        assert len({Path(f"/proc/{pid}/auxv").read_bytes() for pid in pids}) == 2
        eventually(lambda: shown(pids[1]) == f"heronpy: spawned words[1] (container 1) {topology.work}")


def test_ps_shows_what_a_forked_child_is(topology: Topology, executor: subprocess.Popen[bytes]) -> None:
    topology.settle()
    for name, pid in topology.running().items():
        words = f"heronpy: {topology.work.name} {name} (container 1) {topology.work}"
        eventually(lambda pid=pid, words=words: shown(pid) == words)  # type: ignore[misc]


def shown(pid: int) -> str:
    """As `ps` does it."""
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").replace("\0", " ")


def test_an_idle_executor_uses_no_cpu(topology: Topology, executor: subprocess.Popen[bytes]) -> None:
    topology.settle()
    time.sleep(0.3)
    before = cpu_seconds(executor.pid)
    time.sleep(1.0)
    assert cpu_seconds(executor.pid) - before < 0.02
