"""Schedulers that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import Scheduler, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_schedulers() -> Mapping[str, type[Scheduler]]:
    return ImportedLater(
        {
            "local": "heronpy.plugins.scheduler.local:LocalScheduler",
            "spark": "heronpy.plugins.scheduler.spark:SparkScheduler",
            "yarn": "heronpy.plugins.scheduler.yarn:YarnScheduler",
        }
    )
