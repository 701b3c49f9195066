"""The scheduler `yarn` keeps the scheduler contract, on a real ResourceManager and two NodeManagers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.yarn_cluster import YarnCluster
from support.yarn_master import unmanaged_master
from typing_extensions import override

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import ContainerExit, Scheduler
from heronpy.kernel.processes import process
from heronpy.plugins.scheduler.yarn import YarnScheduler
from heronpy.testing.contracts.scheduler import SchedulerContract, SleeperLauncher, plan
from heronpy.testing.waiting import eventually

pytestmark = pytest.mark.cluster


class TestYarnScheduler(SchedulerContract):
    @pytest.fixture(autouse=True)
    def in_a_master(
        self, yarn_cluster: YarnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        folder = tmp_path / "master"
        folder.mkdir()
        with unmanaged_master(yarn_cluster, folder, monkeypatch):
            yield

    @override
    def make(self) -> Scheduler:
        return YarnScheduler()

    @override
    def config(self, folder: Path) -> Config:
        return load_config(os.devnull, environ={}, flags={"home": str(folder), "kill.timeout": "2s"})

    @override
    def test_watch_reports_a_container_that_died(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        """A node says that a container ended before it has killed what the first process left.

        So that is for containers themselves: a new one ends what its predecessor left on the machine.
        """
        scheduler.on_schedule(plan(1))
        eventually(lambda: len(launcher.running()) == 2)
        first, helper = launcher.started()[1][0]
        os.kill(first, signal.SIGKILL)
        exits: list[ContainerExit] = []
        while not exits:
            exits = list(scheduler.watch(1.0))
        assert exits == [ContainerExit(1, -signal.SIGKILL)]

        scheduler.on_restart([1])
        eventually(lambda: set(launcher.running()) == {0, 1})
        eventually(lambda: process(helper) is None)
