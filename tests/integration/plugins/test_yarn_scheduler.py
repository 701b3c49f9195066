"""The scheduler `yarn` keeps the scheduler contract, on a real ResourceManager and two NodeManagers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.clusters.yarn_cluster import YarnCluster
from support.clusters.yarn_master import unmanaged_master
from typing_extensions import override

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import Launch, Scheduler
from heronpy.plugins.scheduler.yarn import YarnScheduler
from heronpy.testing.contracts.scheduler import SchedulerContract, SleeperLauncher

pytestmark = pytest.mark.cluster


#: has the helper end with the container's first process
LOYAL = "preexec_fn=lambda: __import__('ctypes').CDLL(None).prctl(1, 9)"


class LoyalLauncher(SleeperLauncher):
    """What a container has started ends with its first process, as all that the engine starts does.

    For YARN's nodes do not always see to that; and a new container ends what its predecessor left.
    """

    @override
    def container(self, container_id: int) -> Launch:
        launch = super().container(container_id)
        argv = (word.replace('time.sleep(1000)"])', f'time.sleep(1000)"], {LOYAL})') for word in launch.argv)
        return msgspec.structs.replace(launch, argv=tuple(argv))


class TestYarnScheduler(SchedulerContract):
    @pytest.fixture(autouse=True)
    def in_a_master(
        self, yarn_cluster: YarnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        folder = tmp_path / "master"
        folder.mkdir()
        with unmanaged_master(yarn_cluster, folder, monkeypatch):
            yield

    @pytest.fixture
    @override
    def launcher(self, tmp_path: Path) -> SleeperLauncher:
        return LoyalLauncher(tmp_path)

    @override
    def make(self) -> Scheduler:
        return YarnScheduler()

    @override
    def config(self, folder: Path) -> Config:
        return load_config(os.devnull, environ={}, flags={"home": str(folder), "kill.timeout": "2s"})
