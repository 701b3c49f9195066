"""Who is registered: the newest incarnation, whatever comes late."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.plugin import Registry, StateManager
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import read, register

PATH = Tree("words").stream_manager(2)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateManager]:
    manager = Registry.load().state_manager("localfs")()
    manager.initialize(load_config(os.devnull, environ={}, flags={"home": str(tmp_path)}))
    yield manager
    manager.close()


def registration(incarnation: int) -> Registration:
    return Registration(f"key {incarnation}", incarnation, f"tcp://10.0.0.{incarnation}:1", incarnation)


def test_a_successor_takes_the_place_and_its_predecessor_cannot_take_it_back(state: StateManager) -> None:
    assert register(state, PATH, registration(3))
    assert register(state, PATH, registration(5))
    assert not register(state, PATH, registration(4)), "it was cut off while it started"
    assert read(state, PATH, Registration) == registration(5)
    assert register(state, PATH, registration(5)), "saying it twice does no harm"


def test_of_many_at_once_the_newest_stays(state: StateManager) -> None:
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda number: register(state, PATH, registration(number)), range(1, 33)))
    assert said[-1]
    assert read(state, PATH, Registration) == registration(32)
