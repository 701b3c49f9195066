"""What a supervisor decides, on a clock that the test turns; its children are processes that only sleep."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from heronpy.container.executor.supervisor import START_SECONDS, DesiredChild, Moment, Supervisor
from heronpy.container.processes.child import Start
from heronpy.container.restart_policy import RestartPolicy
from heronpy.kernel.liveness.lifeline import beat, has_beaten, lifeline
from heronpy.kernel.tree.paths import ChildView, ExecutorNode

SILENCE = 30.0
POLICY = RestartPolicy(delay=1.0, delay_max=8.0, reset=60.0, attempts=3)
SLEEPER = [sys.executable, "-c", "import os, time; os.setpgid(0, 0); print(flush=True); time.sleep(1000)"]


class Home:
    """A supervisor with a virtual clock; children are started and reaped by hand."""

    def __init__(self, silence: float = SILENCE) -> None:
        self.now = 1000.0
        self.started: list[Start] = []
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.supervisor = Supervisor(1, 1, POLICY, silence, self._start, str)
        self.wants("a", "b")

    @property
    def clock(self) -> Moment:
        return Moment(self.now, self.now)

    def wants(self, *names: str) -> None:
        wanted = [DesiredChild("instance", name, ord(name), (ord(name),)) for name in names]
        self.supervisor.want(wanted, self.clock, 10.0)
        self.turn()

    def _start(self, wanted: DesiredChild, start: Start, lifeline: int) -> None:
        os.close(lifeline)
        self.started.append(start)
        child = subprocess.Popen(SLEEPER, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        self.running[child.pid] = child
        self.supervisor.on_started(start.child.incarnation, child.pid, self.clock)

    def turn(self, *beaten: str) -> None:
        numbers = [start.child.incarnation for start in self.started if start.child.name in beaten]
        self.supervisor.hear(numbers, self.clock)
        self.supervisor.tick(self.clock)

    def pass_time(self, seconds: float, *beaten: str) -> None:
        """Second by second, while these give signs of life."""
        until = self.now + seconds
        while self.now < until:
            self.now += 1.0
            self.turn(*beaten)

    def reap(self, name: str) -> None:
        """Wait for a child that was killed, and tell."""
        self.wait_for(self.view(name).pid)

    def wait_for(self, pid: int) -> None:
        status = os.waitpid(pid, 0)[1]
        self._bury(pid)
        assert self.supervisor.on_exit(pid, status, self.clock)

    def crash(self, name: str) -> None:
        self.running[self.view(name).pid].kill()
        self.reap(name)

    def view(self, name: str) -> ChildView:
        return self.supervisor.view()[name]

    def starts(self, name: str) -> int:
        return sum(start.child.name == name for start in self.started)

    def close(self) -> None:
        self.supervisor.kill_all()
        for pid in list(self.running):
            os.waitpid(pid, 0)
            self._bury(pid)
        with ExitStack() as stack:
            for _, line in self.supervisor.lifelines():
                stack.enter_context(line)

    def _bury(self, pid: int) -> None:
        child = self.running.pop(pid)
        child.returncode = 0
        assert child.stdout is not None
        child.stdout.close()


@pytest.fixture
def home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


def test_a_silent_child_is_killed_and_started_again_only_after_it_was_reaped(home: Home) -> None:
    home.pass_time(31, "b")
    killed = home.view("a")
    assert killed.state == "silent"
    home.pass_time(100, "b")
    assert home.starts("a") == 1

    home.reap("a")
    assert (home.view("a").state, home.view("a").last_exit) == ("waiting", "silent for 31 s, killed")
    home.turn("b")
    assert home.view("a").state == "running"
    assert (home.starts("a"), home.starts("b")) == (2, 1)
    assert [start.child.incarnation for start in home.started] == [1 << 20 | n for n in (1, 2, 3)]


def test_a_process_is_started_supervised_and_replaced_with_all_its_tasks(home: Home) -> None:
    def hold_together(*tasks: int) -> None:
        """One process with these, and no other; those that leave are waited for."""
        before = set(home.running)
        home.supervisor.want([DesiredChild("instance", "a", 1, tasks)], home.clock, 10.0)
        for pid in before - {home.view("a").pid}:
            home.wait_for(pid)
        home.turn()

    hold_together(1, 2)
    (child,) = (start.child for start in home.started if start.child.tasks == (1, 2))
    assert (child.slot, home.view("a").tasks) == (1, (1, 2))

    home.crash("a")
    home.pass_time(2)
    again = [start.child for start in home.started if start.child.tasks == (1, 2)]
    assert [each.incarnation for each in again] == [child.incarnation, child.incarnation + 1]
    assert (home.view("a").restarts, home.view("a").gone) == (1, child.incarnation)

    hold_together(1, 2)
    assert len(home.started) == 4
    hold_together(1, 2, 3)  # which it learns from the plan
    assert (len(home.started), home.view("a").tasks) == (4, (1, 2, 3))
    home.crash("a")
    home.pass_time(4)
    assert (len(home.started), home.started[-1].child.tasks) == (5, (1, 2, 3))


def test_it_is_called_silent_before_it_is_killed_and_running_again_when_it_speaks(home: Home) -> None:
    home.pass_time(8, "b")
    assert home.view("a").state == "running"
    home.pass_time(1, "b")
    assert home.view("a").state == "silent"
    home.pass_time(1, "a", "b")
    assert home.view("a").state == "running"


def test_a_child_that_was_just_started_has_the_whole_time(home: Home) -> None:
    home.pass_time(29, "b")
    home.crash("a")
    home.turn("b")
    home.pass_time(29, "b")
    assert home.view("a").last_exit == "signal 9 (killed)"
    assert home.view("a").restarts == 1
    home.pass_time(3, "b")
    home.reap("a")
    assert home.view("a").last_exit == "silent for 31 s, killed"


def test_a_start_may_take_longer_than_any_later_silence() -> None:
    home = Home(silence=8.0)
    try:
        home.pass_time(START_SECONDS, "b")
        assert home.view("a").pid
        home.pass_time(8, "a")
        assert {name: view.last_exit for name, view in home.supervisor.view().items()} == {"a": "", "b": ""}
        home.pass_time(1, "a")
        home.reap("b")
        assert home.view("b").last_exit == "silent for 9 s, killed"
        home.turn("a")
        home.pass_time(START_SECONDS + 1, "a")
        home.reap("b")
        assert home.view("b").last_exit == "silent for 31 s, killed"
    finally:
        home.close()


def test_a_supervisor_that_stood_still_kills_nobody(home: Home) -> None:
    home.pass_time(25)
    home.now += 3600.0
    home.turn()
    assert {view.state for view in home.supervisor.view().values()} == {"silent"}
    home.pass_time(2)
    home.pass_time(20, "a", "b")
    assert {view.state for view in home.supervisor.view().values()} == {"running"}
    assert len(home.started) == 2


def test_who_was_dismissed_is_not_expected_to_speak(home: Home) -> None:
    home.wants("b")
    deadline = home.supervisor.next_deadline()
    assert deadline is not None
    assert deadline <= home.now + 10.0
    assert "a" not in home.supervisor.view()
    (leaving,) = [pid for pid in home.running if pid != home.view("b").pid]
    home.wait_for(leaving)
    home.pass_time(100, "b")
    assert home.starts("a") == 1


def test_a_child_that_ends_again_and_again_is_given_up_and_others_run_on(home: Home) -> None:
    for _ in range(4):
        home.crash("a")
        home.pass_time(10, "b")
    view = home.view("a")
    assert (view.state, view.restarts, view.streak, view.last_exit) == (
        "given_up",
        3,
        3,
        "signal 9 (killed)",
    )
    home.pass_time(1000, "b")
    assert (home.starts("a"), home.starts("b")) == (4, 1)
    assert home.view("b").state == "running"


def test_a_quiet_time_forgives(home: Home) -> None:
    for _ in range(3):
        home.crash("a")
        home.pass_time(10, "b")
    home.pass_time(60, "a", "b")
    home.crash("a")
    home.pass_time(10, "a", "b")
    assert (home.view("a").state, home.view("a").streak, home.view("a").restarts) == ("running", 1, 4)


def test_a_lifeline_carries_signs_of_life_and_never_waits() -> None:
    ours, theirs = lifeline()
    with ours, theirs:
        assert not has_beaten(ours)
        beat(theirs.fileno())
        assert has_beaten(ours)
        assert not has_beaten(ours)
        for _ in range(10_000):
            beat(theirs.fileno())
        assert has_beaten(ours)
    ours, theirs = lifeline()
    with theirs:
        ours.close()
        beat(theirs.fileno())


def test_only_the_first_life_of_a_child_is_told_that_nobody_was_before_it(home: Home) -> None:
    os.kill(home.view("a").pid, 9)
    home.reap("a")
    home.pass_time(2.0, "b")
    assert [(start.child.name, start.child.first) for start in home.started] == [
        ("a", True),
        ("b", True),
        ("a", False),
    ]


def test_it_says_who_is_gone(home: Home) -> None:
    first, other = (start.child.incarnation for start in home.started)
    home.crash("a")
    assert (home.view("a").gone, home.view("b").gone) == (first, 0)
    home.pass_time(2.0, "b")
    assert home.view("a").gone == first < home.started[-1].child.incarnation
    before, now, after = ExecutorNode(1, 0), ExecutorNode(1, 7), ExecutorNode(2, 7)
    assert now.gone < min(first, other) <= home.started[-1].child.incarnation < before.gone == after.gone
