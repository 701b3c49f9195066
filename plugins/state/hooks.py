"""Registers the built-in state managers."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin import StateManager, hookimpl
from heronpy.kernel.plugin.imported_later import ImportedLater


@hookimpl
def heron_state_managers() -> Mapping[str, type[StateManager]]:
    return ImportedLater(
        {
            "localfs": "heronpy.plugins.state.localfs.manager:LocalFsStateManager",
            "zookeeper": "heronpy.plugins.state.zookeeper.manager:ZooKeeperStateManager",
        }
    )
