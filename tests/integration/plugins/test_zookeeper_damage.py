"""docs/damage.md: what each reader does with each node that is there, missing or damaged, on ZooKeeper."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.clusters.zookeeper import ZooKeeper
from support.faults.damage_table import Stand, check_table

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import DamagedNode, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager

pytestmark = pytest.mark.cluster

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda data: b"",
    "one bit flipped": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "the first bit flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "cut in half": lambda data: data[: len(data) // 2],
}


@pytest.fixture
def config(zookeeper: ZooKeeper, tmp_path: Path) -> Config:
    flags = {**zookeeper.settings(zookeeper.fresh_root()), "home": str(tmp_path)}
    return load_config(os.devnull, environ={}, flags=flags)


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = ZooKeeperStateManager()
    manager.initialize(config)
    yield manager
    manager.close()


@pytest.fixture
def damage(zookeeper: ZooKeeper, config: Config) -> Iterator[Callable[[str, str], None]]:
    """Writes past the state manager."""
    with zookeeper.client() as client:

        def write(path: str, kind: str) -> None:
            where = config.text("state.zookeeper.root") + path
            client.set(where, DAMAGES[kind](client.get(where)[0]))

        yield write


@pytest.mark.parametrize("kind", DAMAGES)
def test_each_reader_does_what_the_table_says(
    state: StateManager, config: Config, damage: Callable[[str, str], None], kind: str
) -> None:
    check_table(Stand(state, config), lambda path: damage(path, kind))


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_node_is_there_and_is_repaired_once(
    state: StateManager, damage: Callable[[str, str], None], kind: str
) -> None:
    version = state.create("/t/plan", b"a plan")
    damage("/t/plan", kind)
    for call in (
        lambda: state.get("/t/plan"),
        lambda: state.set("/t/plan", b"x", version=version),
        lambda: state.create("/t/plan", b"x"),
    ):
        with pytest.raises(DamagedNode, match="the node /t/plan of the state tree is damaged"):
            call()
    assert (state.exists("/t/plan"), state.children("/t")) == (True, ["plan"])
    assert state.repair("/t/plan", b"again") > version
    assert state.get("/t/plan").value == b"again"
    with pytest.raises(VersionConflict, match="the node /t/plan is not damaged"):
        state.repair("/t/plan", b"once more")
    damage("/t/plan", kind)
    state.delete("/t", recursive=True)
    assert state.children("/") == []
