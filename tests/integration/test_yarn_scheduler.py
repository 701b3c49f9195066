"""The scheduler `yarn` keeps the scheduler contract, on a real ResourceManager and two NodeManagers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.yarn_cluster import YarnCluster
from support.yarn_master import unmanaged_master
from typing_extensions import override

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import Scheduler
from heronpy.plugins.scheduler.yarn import YarnScheduler
from heronpy.testing.contracts.scheduler import SchedulerContract

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
