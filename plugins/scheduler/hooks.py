"""Schedulers that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import Scheduler, hookimpl


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    from heronpy.plugins.scheduler.local import LocalScheduler
    from heronpy.plugins.scheduler.spark import SparkScheduler
    from heronpy.plugins.scheduler.yarn import YarnScheduler

    return {"local": LocalScheduler, "spark": SparkScheduler, "yarn": YarnScheduler}
