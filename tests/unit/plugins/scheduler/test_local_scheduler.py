"""The local scheduler: the contract, and what only it has."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from typing_extensions import override

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import ContainerPlan, InstancePlan, PackingPlan, Resources
from heronpy.kernel.plugin import Scheduler
from heronpy.plugins.scheduler.local import LocalScheduler
from heronpy.testing.contracts.scheduler import SchedulerContract, SleeperLauncher, plan
from heronpy.testing.waiting import eventually


class TestLocalScheduler(SchedulerContract):
    @override
    def make(self) -> Scheduler:
        return LocalScheduler()

    def test_a_container_leads_a_session_of_its_own(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        assert all(os.getsid(pid) == pid for pid in launcher.running().values())

    def test_more_than_the_machine_can_hold_is_refused_before_anything_starts(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        crowd = tuple(InstancePlan(task, "words", task - 1) for task in range(1, 1_000_001))
        everybody = PackingPlan("contract", "test", (ContainerPlan(1, crowd, Resources()),), 1)
        with pytest.raises(
            UserError, match=r"^1000000 instances are too many for one machine with memory for"
        ):
            scheduler.on_schedule(everybody)
        assert launcher.running() == {}

    def test_what_a_container_inherits_is_no_setting(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        """User code may run heronpy, which refuses variables that look like settings and are none."""
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        environment = psutil.Process(launcher.running()[1]).environ()
        load_config(environ=environment)

    def test_output_goes_to_the_container_log(
        self, scheduler: Scheduler, launcher: SleeperLauncher, tmp_path: Path
    ) -> None:
        scheduler.on_schedule(plan(1))
        assert {path.name for path in (tmp_path / "logs").iterdir()} == {"container-0.log", "container-1.log"}

    def test_a_container_whose_pid_was_never_written_down_is_found(
        self, launcher: SleeperLauncher, tmp_path: Path
    ) -> None:
        first, second = LocalScheduler(), LocalScheduler()
        first.initialize(self.config(tmp_path), launcher)
        first.on_schedule(plan())
        eventually(lambda: len(launcher.running()) == 1)
        first.close()
        record = tmp_path / "containers" / "0.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), "pid": 0, "started": 0}))

        second.initialize(self.config(tmp_path), launcher)
        assert list(second.adopt(plan())) == [0]
        second.on_kill()
        second.close()
        assert launcher.left() == []

    def test_a_record_that_was_torn_is_no_record(self, scheduler: Scheduler, tmp_path: Path) -> None:
        record = tmp_path / "containers" / "1.json"
        record.parent.mkdir()
        record.write_bytes(b"")
        assert list(scheduler.adopt(plan(1))) == []
        assert not record.exists()

    def test_an_update_ends_what_a_dead_container_left(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        first = launcher.running()[1]
        os.kill(first, signal.SIGKILL)
        eventually(lambda: 1 not in launcher.running())
        scheduler.on_update(plan(1), plan())
        assert set(launcher.left()) == {*launcher.started()[0][0]}

    @pytest.mark.parametrize("changed", [{"started": 1}, {"boot": "another"}])
    def test_a_pid_that_changed_hands_is_left_alone(
        self, launcher: SleeperLauncher, tmp_path: Path, changed: dict[str, object]
    ) -> None:
        first, stranger = LocalScheduler(), LocalScheduler()
        first.initialize(self.config(tmp_path), launcher)
        first.on_schedule(plan())
        eventually(lambda: len(launcher.running()) == 1)
        record = tmp_path / "containers" / "0.json"
        truth = record.read_text()
        record.write_text(json.dumps({**json.loads(truth), **changed}))

        stranger.initialize(self.config(tmp_path), launcher)
        assert list(stranger.adopt(plan())) == []
        stranger.on_kill()
        stranger.close()
        assert set(launcher.running()) == {0}

        record.write_text(truth)
        first.on_kill()
        first.close()
        assert launcher.left() == []

    def test_a_container_that_ignores_sigterm_is_killed(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan())
        eventually(lambda: len(launcher.running()) == 1)
        os.kill(launcher.running()[0], signal.SIGSTOP)
        scheduler.on_kill()
        assert launcher.left() == []
