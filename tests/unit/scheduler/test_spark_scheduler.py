"""The Spark scheduler: the contract, on this machine and on a cluster, and what only it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.spark_application import QUICK, SparkApplication
from support.spark_cluster import SparkCluster
from typing_extensions import override

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import Scheduler
from heronpy.testing.contracts.scheduler import SchedulerContract

pytestmark = pytest.mark.cluster


def config(folder: Path, master: str, *conf: str) -> Config:
    flags = {
        "home": str(folder),
        "kill.timeout": "1s",
        "scheduler.spark.master": master,
        "scheduler.spark.conf": ",".join((*QUICK, *conf)),
    }
    return load_config(os.devnull, environ={}, flags=flags)


@pytest.fixture(scope="class")
def here() -> Iterator[SparkApplication]:
    application = SparkApplication("local[*]")
    yield application
    application.close()


@pytest.fixture(scope="class")
def there(spark_cluster_of_the_run: SparkCluster) -> Iterator[SparkApplication]:
    application = SparkApplication(spark_cluster_of_the_run.url, spark_cluster_of_the_run.python)
    yield application
    application.close()


class TestOnThisMachine(SchedulerContract):
    @pytest.fixture(autouse=True)
    def _application(self, here: SparkApplication) -> None:
        self._shared = here

    @override
    def make(self) -> Scheduler:
        return self._shared.scheduler()

    @override
    def config(self, folder: Path) -> Config:
        return config(folder, "local[*]")


class TestOnACluster(SchedulerContract):
    @pytest.fixture(autouse=True)
    def _application(self, there: SparkApplication, spark_cluster: SparkCluster) -> None:
        self._shared, self._url = there, spark_cluster.url

    @override
    def make(self) -> Scheduler:
        return self._shared.scheduler()

    @override
    def config(self, folder: Path) -> Config:
        return config(folder, self._url)
