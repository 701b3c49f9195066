"""Our own packing algorithms keep the contract that plugin authors are given."""

from __future__ import annotations

import importlib.metadata

import pluggy

from heronpy.kernel.plugin import Registry, ResourceManager, hookspecs
from heronpy.plugins.packing.binpack import BinPack
from heronpy.plugins.packing.resource_compliant import ResourceCompliant
from heronpy.plugins.packing.round_robin import RoundRobin
from heronpy.testing.contracts.packing import PackingContract


class TestRoundRobin(PackingContract):
    def make(self) -> ResourceManager:
        return RoundRobin()


class TestResourceCompliant(PackingContract):
    def make(self) -> ResourceManager:
        return ResourceCompliant()


class TestBinPack(PackingContract):
    def make(self) -> ResourceManager:
        return BinPack()


def test_they_are_announced_under_their_names_by_the_entry_point() -> None:
    (entry_point,) = importlib.metadata.entry_points(group="heronpy", name="packing")
    plugins = pluggy.PluginManager("heronpy")
    plugins.add_hookspecs(hookspecs)
    plugins.register(entry_point.load())
    registry = Registry(plugins)
    assert registry.resource_manager("round_robin") is RoundRobin
    assert registry.resource_manager("resource_compliant") is ResourceCompliant
    assert registry.resource_manager("binpack") is BinPack
