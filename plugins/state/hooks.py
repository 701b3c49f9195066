"""Registers the built-in state managers."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.plugin.hookspecs import hookimpl
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.localfs.manager import LocalFsStateManager
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager


@hookimpl
def heron_state_managers() -> Mapping[str, type[StateManager]]:
    return {"localfs": LocalFsStateManager, "zookeeper": ZooKeeperStateManager}
