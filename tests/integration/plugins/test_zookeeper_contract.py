"""zookeeper keeps the contract of state managers: whole on one server, on three what these could break."""

from __future__ import annotations

import os

import pytest
from support.clusters.zookeeper import ZooKeeper
from support.suite.contracts import only

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


@only(
    # two clients may be served by two servers, of which one lags behind the other
    StateManagerContract.test_what_one_client_writes_the_other_reads,
    StateManagerContract.test_set_with_a_version_wants_that_version,
    StateManagerContract.test_compare_and_set_loses_no_increment,
    # a session belongs to all servers
    StateManagerContract.test_an_ephemeral_node_ends_with_its_client,
    StateManagerContract.test_setting_an_ephemeral_node_keeps_its_owner,
    StateManagerContract.test_an_ephemeral_node_ends_with_its_process,
    # a watch is told by another server than the one that took the write
    StateManagerContract.test_a_watch_is_told_of_values,
    StateManagerContract.test_a_watch_outlives_its_node,
    StateManagerContract.test_a_watch_is_told_when_an_ephemeral_child_ends,
    StateManagerContract.test_no_change_is_lost_among_many,
    # a lock is ephemeral nodes and watches in one order for all servers
    StateManagerContract.test_a_lock_keeps_others_out,
    StateManagerContract.test_a_lock_is_handed_on,
    StateManagerContract.test_a_holder_that_dies_lets_go,
)
class TestThreeServers(TestOneServer):
    @pytest.fixture(autouse=True)
    def root(self, ensemble: ZooKeeper) -> None:
        settings = {**ensemble.settings(ensemble.fresh_root()), "state.zookeeper.session": "2s"}
        self.settings = load_config(os.devnull, environ={}, flags=settings)
