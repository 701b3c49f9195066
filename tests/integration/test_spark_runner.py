"""Pipelines as Spark jobs: on this machine, on a cluster with two Workers, and over Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest
from support.clusters.spark_application import quick
from support.clusters.spark_cluster import SparkCluster
from support.clusters.spark_connect import SparkConnect
from support.clusters.spark_workers import workers_python
from support.suite.needs import needs_java

from heronpy.testing.contracts.runner import RunnerContract

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


class SparkContract(RunnerContract):
    runner = "spark"
    refuses = {"sources that never end": "sources that never end"}
    chosen: ClassVar[dict[str, object]] = {}

    def settings(self) -> Mapping[str, object]:
        return self.chosen


@pytest.fixture(scope="session")
def python_without_heronpy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return workers_python(tmp_path_factory.mktemp("workers"))


class TestOnThisMachine(SparkContract):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls) -> None:
        needs_java()
        cls.chosen = {
            "scheduler.spark.master": "local[2]",
            "scheduler.spark.conf": ",".join(quick()),
        }


class TestOnACluster(SparkContract):
    """Workers have no heronpy, nor what it needs: all that travels."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls, spark_cluster_of_the_run: SparkCluster, python_without_heronpy: str) -> None:
        spread = ("spark.executor.cores=1", "spark.cores.max=2")
        conf = (*quick(), spark_cluster_of_the_run.executors, *spread)
        cls.chosen = {
            "scheduler.spark.master": spark_cluster_of_the_run.url,
            "scheduler.spark.conf": ",".join(conf),
            "container.python": python_without_heronpy,
        }


class TestOverConnect(SparkContract):
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def spark(cls, tmp_path_factory: pytest.TempPathFactory, python_without_heronpy: str) -> Iterator[None]:
        server = SparkConnect(tmp_path_factory.mktemp("connect"), python_without_heronpy)
        cls.chosen = {"scheduler.spark.master": server.url}
        yield
        server.close()
