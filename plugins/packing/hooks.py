"""Announces the built-in packing algorithms."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import ResourceManager, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_resource_managers() -> Mapping[str, type[ResourceManager]]:
    return ImportedLater(
        {
            "round_robin": "heronpy.plugins.packing.round_robin:RoundRobin",
            "resource_compliant": "heronpy.plugins.packing.resource_compliant:ResourceCompliant",
            "binpack": "heronpy.plugins.packing.binpack:BinPack",
        }
    )
