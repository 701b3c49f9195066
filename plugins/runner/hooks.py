"""Announces the runners that come with heronpy."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import Runner, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_runners() -> Mapping[str, type[Runner]]:
    return ImportedLater(
        {
            "local": "heronpy.plugins.runner.local:LocalRunner",
            "engine": "heronpy.plugins.runner.engine:EngineRunner",
            "spark": "heronpy.plugins.runner.spark.runner:SparkRunner",
        }
    )
