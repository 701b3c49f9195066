"""One Spark application for many tests: a JVM of its own for each would take most of their time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

from support.clusters.servers import running
from support.clusters.small_java import spark_java
from support.suite.needs import needs_java
from typing_extensions import override

from heronpy.plugins.scheduler.spark import SparkScheduler
from heronpy.plugins.scheduler.spark.driver import Driver
from heronpy.plugins.scheduler.spark.settings import SparkSettings


def quick() -> tuple[str, ...]:
    """Settings of Spark's for JVMs that start fast and stay small."""
    java = spark_java()
    return (
        f"spark.driver.extraJavaOptions={java}",
        f"spark.executor.extraJavaOptions={java}",
        "spark.executor.memory=512m",
    )


class SparkApplication:
    """Opened by the first scheduler that needs it, closed by the owner of the fixture."""

    def __init__(self, master: str, python: str = "", *more: str) -> None:
        needs_java()
        conf = dict(word.split("=", 1) for word in (*quick(), *more))
        scratch = Path(tempfile.mkdtemp(prefix="hpsa"))
        settings = SparkSettings(master, 0, conf, conf)
        self._driver = Driver(settings, "contract", python, scratch, on_loss=lambda: None)
        running.add(str(self._driver._jvm.pid))

    def scheduler(self) -> SparkScheduler:
        return _Borrowing(self._driver)

    def close(self) -> None:
        running.discard(str(self._driver._jvm.pid))
        self._driver.stop()


class _Borrowing(SparkScheduler):
    """A scheduler in all but that the application goes on when it stops."""

    def __init__(self, driver: Driver) -> None:
        self._borrowed = driver

    @override
    def _open_driver(self) -> Driver:
        return cast("Driver", _Kept(self._borrowed))


class _Kept:
    def __init__(self, driver: Driver) -> None:
        self._kept = driver

    def __getattr__(self, name: str) -> Callable[..., object]:
        return cast("Callable[..., object]", getattr(self._kept, name))

    def stop(self) -> None:
        """Its owner does."""
