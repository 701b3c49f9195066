"""The Spark scheduler: the contract, whole on this machine and in part on a cluster, and what only it has."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.clusters.spark_application import SparkApplication, quick
from support.clusters.spark_cluster import SparkCluster
from support.suite.contracts import only
from typing_extensions import override

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import MB
from heronpy.kernel.plugin import ContainerExit, Launch, Launcher, Scheduler, Shipped
from heronpy.plugins.scheduler.spark.task import PASSED_ON
from heronpy.testing.contracts.scheduler import SchedulerContract, SleeperLauncher, plan
from heronpy.testing.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PROGRAM = Path(__file__).parents[2] / "support" / "schedulers" / "shipped_program.py"


def config(folder: Path, master: str, *conf: str) -> Config:
    flags = {
        "home": str(folder),
        "kill.timeout": "1s",
        "scheduler.spark.master": master,
        "scheduler.spark.conf": ",".join((*quick(), *conf)),
    }
    return load_config(os.devnull, environ={}, flags=flags)


@pytest.fixture(scope="class")
def here() -> Iterator[SparkApplication]:
    application = SparkApplication("local[*]")
    yield application
    application.close()


@pytest.fixture(scope="class")
def there(spark_cluster_of_the_run: SparkCluster) -> Iterator[SparkApplication]:
    cluster = spark_cluster_of_the_run
    application = SparkApplication(cluster.url, cluster.python, cluster.executors)
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


class ShippingLauncher(Launcher):
    """Containers that need nothing but what is shipped, and say what they found."""

    topology = "contract"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._secret = folder / "secret"
        self._secret.write_text("swordfish")

    @override
    def container(self, container_id: int) -> Launch:
        return Launch(
            container=container_id,
            argv=("", "program.py", str(self.folder), str(container_id)),
            environment={"LANG": "C.UTF-8"},
            files=(),
            resources=Resources(cpu=2.0, ram=64 * MB),
            log_folder="",
            shipped=(
                Shipped("program.py", f"file://{PROGRAM}", str(PROGRAM), "", 0),
                Shipped("a.secret", "", str(self._secret), "", 0, secret=True),
            ),
        )

    def reports(self) -> list[dict[str, Any]]:
        """What was found, by those that have started so far."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]


@only(
    # what goes through Spark's master and workers; the rest is decided in the driver
    SchedulerContract.test_on_schedule_starts_the_master_and_every_container,
    SchedulerContract.test_on_kill_leaves_nothing_and_can_be_repeated,
    SchedulerContract.test_on_restart_touches_only_the_named,
    SchedulerContract.test_watch_reports_a_container_that_died,
)
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

    @pytest.fixture
    def shipping(self, tmp_path: Path) -> Iterator[tuple[Scheduler, ShippingLauncher]]:
        scheduler, launcher = self.make(), ShippingLauncher(tmp_path)
        scheduler.initialize(self.config(tmp_path), launcher)
        yield scheduler, launcher
        scheduler.on_kill()
        scheduler.close()

    def test_a_container_has_what_was_shipped_and_nothing_of_sparks_environment(
        self, shipping: tuple[Scheduler, ShippingLauncher], spark_cluster: SparkCluster
    ) -> None:
        scheduler, launcher = shipping
        scheduler.on_schedule(plan())
        eventually(launcher.reports)
        (found,) = launcher.reports()

        assert found["python"] == spark_cluster.bare_python
        assert found["session"] == found["pid"]
        assert found["words"] == ["--lifeline"]
        assert found["secret"] == "swordfish"
        assert found["modes"]["a.secret"] == "0o600"
        environment = found["environment"]
        assert environment["_HERONPY_HOST"] in map(spark_cluster.address, spark_cluster.machines)
        assert set(environment) <= {*PASSED_ON, "LANG", "_HERONPY_HOST"}

        scheduler.on_kill()
        assert not Path(found["cwd"]).exists()
        assert not psutil.pid_exists(found["pid"])

    def test_a_container_ends_with_the_worker_of_its_task_and_comes_again(
        self, shipping: tuple[Scheduler, ShippingLauncher]
    ) -> None:
        scheduler, launcher = shipping
        scheduler.on_schedule(plan())
        eventually(launcher.reports)
        (found,) = launcher.reports()
        worker = psutil.Process(found["pid"]).parent()
        assert worker is not None
        worker.kill()

        (ended,) = exits(scheduler)
        assert (ended.container, ended.status) == (0, None)
        assert ended.reason != ""
        eventually(lambda: not psutil.pid_exists(found["pid"]))
        scheduler.on_restart([0])
        eventually(lambda: len(launcher.reports()) == 2)

    def test_why_a_container_ended_comes_with_its_exit(
        self, shipping: tuple[Scheduler, ShippingLauncher]
    ) -> None:
        scheduler, launcher = shipping
        scheduler.on_schedule(plan())
        eventually(launcher.reports)
        (found,) = launcher.reports()
        os.kill(found["pid"], signal.SIGKILL)
        assert exits(scheduler) == [ContainerExit(0, -signal.SIGKILL, "what it said last")]

    def test_more_than_there_is_room_for_is_refused_and_the_rest_runs_on(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1))
        eventually(lambda: set(launcher.running()) == {0, 1})
        with pytest.raises(
            UserError, match=r"^Spark has \d+ slots, of which 2 are taken: no room for 98 more"
        ):
            scheduler.on_update(plan(1), plan(*range(1, 100)))
        assert set(launcher.running()) == {0, 1}

    def test_a_start_that_was_taken_back_starts_nothing(
        self, scheduler: Scheduler, launcher: SleeperLauncher
    ) -> None:
        scheduler.on_schedule(plan(1, 2))
        scheduler.on_kill()
        assert list(scheduler.watch(1.0)) == []
        assert launcher.left() == []


class TestExecutorsOfTheirOwn:
    """Where Spark has dynamic allocation."""

    def test_each_container_has_an_executor_of_its_size(
        self, spark_cluster: SparkCluster, tmp_path: Path
    ) -> None:
        dynamic = ("spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.executorIdleTimeout=2s")
        application = SparkApplication(
            spark_cluster.url, spark_cluster.python, spark_cluster.executors, *dynamic
        )
        scheduler, launcher = application.scheduler(), ShippingLauncher(tmp_path)
        try:
            scheduler.initialize(config(tmp_path, spark_cluster.url, *dynamic), launcher)
            scheduler.on_schedule(plan(1))
            eventually(lambda: len(launcher.reports()) == 2, 120)  # Spark starts JVMs for them
            # one that had nothing to do for a while may be about to end
            eventually(lambda: spark_cluster.granted() == (4, [576, 576]))
            scheduler.on_update(plan(1), plan())
            eventually(lambda: spark_cluster.granted() == (2, [576]))
        finally:
            scheduler.close()
            application.close()


def exits(scheduler: Scheduler) -> list[ContainerExit]:
    """The first exits that are reported."""
    found: list[ContainerExit] = []

    def look() -> bool:
        found.extend(scheduler.watch(5.0))
        return bool(found)

    eventually(look)
    return found
