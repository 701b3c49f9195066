"""The scheduler `nice`: the engine's contract, and what only it has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from heronpy_nice_scheduler.scheduler import NiceScheduler

from heronpy import Config, Scheduler
from heronpy.kernel.config import load_config
from heronpy.testing.contracts.scheduler import SchedulerContract, SleeperLauncher, plan
from heronpy.testing.waiting import eventually


class TestNiceScheduler(SchedulerContract):
    def make(self) -> Scheduler:
        return NiceScheduler()

    def config(self, folder: Path) -> Config:
        flags = {"plugins.nice.level": "7", "plugins.nice.cpus": "0"}
        return load_config(os.devnull, environ={}, flags={"home": str(folder), "kill.timeout": "1s", **flags})

    def test_every_container_is_nice_and_stays_on_its_cores(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        for pid in launcher.left():
            assert os.getpriority(os.PRIO_PROCESS, pid) == 7
            assert os.sched_getaffinity(pid) == {0}

    @pytest.mark.parametrize("changed", [{"started": 1}, {"boot": "another"}])
    def test_a_pid_that_changed_hands_is_left_alone(
        self, launcher: SleeperLauncher, tmp_path: Path, changed: dict[str, object]
    ) -> None:
        from heronpy_nice_scheduler.session import saved

        first, stranger = NiceScheduler(), NiceScheduler()
        first.initialize(self.config(tmp_path), launcher)
        first.on_schedule(plan())
        eventually(lambda: len(launcher.running()) == 1)
        (session,) = saved(tmp_path / "nice")
        session._replace(**changed).save(tmp_path / "nice")

        stranger.initialize(self.config(tmp_path), launcher)
        assert list(stranger.adopt(plan())) == []

        session.save(tmp_path / "nice")
        first.on_kill()
        assert launcher.left() == []
