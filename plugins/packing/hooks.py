"""Announces the built-in packing algorithms."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import ResourceManager, hookimpl
from heronpy.plugins.packing.binpack import BinPack
from heronpy.plugins.packing.resource_compliant import ResourceCompliant
from heronpy.plugins.packing.round_robin import RoundRobin


@hookimpl
def heron_resource_managers() -> Mapping[str, type[ResourceManager]]:
    return {
        RoundRobin.name: RoundRobin,
        ResourceCompliant.name: ResourceCompliant,
        BinPack.name: BinPack,
    }
