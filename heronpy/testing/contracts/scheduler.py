"""The scheduler contract: subclass it in your tests and say how to make your scheduler."""

from __future__ import annotations

import abc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.machine.processes import process
from heronpy.kernel.plans import ContainerPlan, PackingPlan, Resources
from heronpy.kernel.plugin import ContainerExit, Launch, Launcher, Scheduler
from heronpy.testing.waiting import eventually

#: a container: says that it started, has a helper of its own, and sleeps; with `--lifeline` until that closes
SLEEPER = """
import os, subprocess, sys, time
folder, container, *words = sys.argv[1:]
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
with open(f"{folder}/{container}.{os.getpid()}.new", "w") as marker:
    marker.write(f"{os.getpid()} {helper.pid}")
os.rename(marker.name, f"{folder}/{container}.{os.getpid()}.started")
sys.stdin.read() if "--lifeline" in words else time.sleep(1000)
"""


class SleeperLauncher(Launcher):
    """Containers that leave a marker file when they start and then do nothing."""

    topology = "contract"
    execution = "c0ffee"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir(exist_ok=True)

    def container(self, container_id: int) -> Launch:
        return Launch(
            container=container_id,
            argv=(sys.executable, "-c", SLEEPER, str(self.folder), str(container_id)),
            environment={},
            files=(),
            resources=Resources(),
            log_folder=str(self.folder / "logs"),
        )

    def started(self) -> dict[int, list[tuple[int, ...]]]:
        """Per container, for every start so far: the pids of its first process and of its helper."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for marker in sorted(self.folder.glob("*.started"), key=lambda path: path.stat().st_mtime_ns):
            pids = tuple(int(word) for word in marker.read_text().split())
            found.setdefault(int(marker.name.split(".")[0]), []).append(pids)
        return found

    def running(self) -> dict[int, int]:
        """Per container that runs: the pid of its first process. One that runs twice is an error."""
        alive: dict[int, int] = {}
        for container, starts in self.started().items():
            pids = [pids[0] for pids in starts if _alive(pids[0])]
            assert len(pids) <= 1, f"container {container} runs {len(pids)} times"
            if pids:
                alive[container] = pids[0]
        return alive

    def left(self) -> list[int]:
        """Every process of any container that still lives."""
        return [pid for starts in self.started().values() for pids in starts for pid in pids if _alive(pid)]


class SchedulerContract(abc.ABC):
    """What the engine relies on, wherever the containers run. They must run on this machine here.

    ```python
    class TestMyScheduler(SchedulerContract):
        def make(self) -> Scheduler:
            return MyScheduler()
    ```
    """

    @abc.abstractmethod
    def make(self) -> Scheduler:
        """A fresh scheduler, not yet initialized."""

    def config(self, folder: Path) -> Config:
        """The settings to initialize with; `folder` is the test's own."""
        return load_config(os.devnull, environ={}, flags={"home": str(folder), "kill.timeout": "1s"})

    @pytest.fixture
    def launcher(self, tmp_path: Path) -> SleeperLauncher:
        return SleeperLauncher(tmp_path)

    @pytest.fixture
    def scheduler(self, launcher: SleeperLauncher, tmp_path: Path) -> Iterator[Scheduler]:
        scheduler = self.make()
        scheduler.initialize(self.config(tmp_path), launcher)
        yield scheduler
        scheduler.on_kill()
        scheduler.close()
        assert launcher.left() == []

    def test_on_schedule_starts_the_master_and_every_container(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1, 2))
        eventually(lambda: set(launcher.running()) == {0, 1, 2})

    def test_on_kill_leaves_nothing_and_can_be_repeated(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1, 2))
        eventually(lambda: len(launcher.running()) == 3)
        scheduler.on_kill()
        assert launcher.left() == []
        scheduler.on_kill()
        assert launcher.left() == []

    def test_on_kill_before_anything_was_started(self, scheduler: Scheduler) -> None:
        scheduler.on_kill()

    def test_on_restart_touches_only_the_named(self, scheduler: Scheduler, launcher: SleeperLauncher) -> None:
        scheduler.on_schedule(plan(1, 2))
        eventually(lambda: len(launcher.running()) == 3)
        before = launcher.running()
        scheduler.on_restart([1])
        eventually(lambda: launcher.running().get(1, before[1]) != before[1])
        assert {each: pid for each, pid in launcher.running().items() if each != 1} == {
            0: before[0],
            2: before[2],
        }
        assert not any(_alive(pid) for pid in launcher.started()[1][0])

    def test_on_update_starts_and_ends_only_what_differs(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1, 2))
        eventually(lambda: len(launcher.running()) == 3)
        before = launcher.running()
        scheduler.on_update(plan(1, 2), plan(2, 3, 4))
        eventually(lambda: set(launcher.running()) == {0, 2, 3, 4})
        assert {each: launcher.running()[each] for each in (0, 2)} == {0: before[0], 2: before[2]}

    def test_links_are_words(self, scheduler: Scheduler) -> None:
        for name, address in scheduler.links().items():
            assert isinstance(name, str)
            assert isinstance(address, str)

    def test_watch_reports_a_container_that_died(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        _only_if_stateful(scheduler)
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        os.kill(launcher.running()[1], signal.SIGKILL)

        assert _exits(scheduler) == [ContainerExit(1, -signal.SIGKILL)]

        scheduler.on_restart([1])
        eventually(lambda: set(launcher.running()) == {0, 1})
        assert not any(_alive(pid) for pid in launcher.started()[1][0]), "what it left must go first"

    def test_watch_does_not_report_what_was_asked_for(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        _only_if_stateful(scheduler)
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        scheduler.on_restart([1])
        assert list(scheduler.watch(0.2)) == []

    def test_wake_ends_a_wait(self, scheduler: Scheduler) -> None:
        if type(scheduler).wake is Scheduler.wake:
            return
        scheduler.on_schedule(plan())
        thread = threading.Timer(0.1, scheduler.wake)
        thread.start()
        before = time.monotonic()
        assert list(scheduler.watch(60.0)) == []
        assert time.monotonic() - before < 30
        thread.join()

    def test_close_leaves_containers_running_for_another_scheduler_or_ends_them(
        self, launcher: SleeperLauncher, tmp_path: Path
    ) -> None:
        first, second = self.make(), self.make()
        first.initialize(self.config(tmp_path), launcher)
        first.on_schedule(plan(1, 2))
        eventually(lambda: len(launcher.running()) == 3)
        before = launcher.running()
        if not first.containers_outlive_host:
            first.close()
            assert launcher.left() == []
            return
        os.kill(before[2], signal.SIGKILL)
        if first.stateful:
            assert [ended.container for ended in _exits(first)] == [2]
        eventually(lambda: not _alive(before[2]))
        first.close()
        assert launcher.running() == {0: before[0], 1: before[1]}

        second.initialize(self.config(tmp_path), launcher)
        try:
            _only_if_stateful(second)
            assert sorted(second.adopt(plan(1, 2))) == [0, 1]
            os.kill(before[1], signal.SIGKILL)
            assert [ended.container for ended in _exits(second)] == [1]
        finally:
            second.on_kill()
            second.close()
        assert launcher.left() == []


def plan(*containers: int) -> PackingPlan:
    """A plan with these containers and no tasks in them."""
    return PackingPlan(
        "contract", "test", tuple(ContainerPlan(each, (), Resources()) for each in containers), 1
    )


def _only_if_stateful(scheduler: Scheduler) -> None:
    if not scheduler.stateful:
        pytest.skip("a stateless scheduler leaves this to its framework")


def _exits(scheduler: Scheduler) -> Sequence[ContainerExit]:
    """The first exits that are reported."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if exits := list(scheduler.watch(5.0)):
            return exits
    return []


def _alive(pid: int) -> bool:
    found = process(pid)
    return found is not None and found.alive
