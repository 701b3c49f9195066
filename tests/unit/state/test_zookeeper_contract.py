"""zookeeper keeps the contract of state managers: on one server, and on three."""

from __future__ import annotations

import os

import pytest
from support.zookeeper import ZooKeeper

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager
from heronpy.testing.contracts.state_manager import StateManagerContract

pytestmark = pytest.mark.cluster


class TestOneServer(StateManagerContract):
    @pytest.fixture(autouse=True)
    def root(self, zookeeper: ZooKeeper) -> None:
        settings = {**zookeeper.settings(zookeeper.fresh_root()), "state.zookeeper.session": "2s"}
        self.settings = load_config(os.devnull, environ={}, flags=settings)

    def make(self) -> StateManager:
        return ZooKeeperStateManager()

    def config(self) -> Config:
        return self.settings


class TestThreeServers(TestOneServer):
    @pytest.fixture(autouse=True)
    def root(self, ensemble: ZooKeeper) -> None:
        settings = {**ensemble.settings(ensemble.fresh_root()), "state.zookeeper.session": "2s"}
        self.settings = load_config(os.devnull, environ={}, flags=settings)
