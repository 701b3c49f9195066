"""A checkpoint store and a state tree in folders of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import CheckpointStore, StateManager
from heronpy.plugins.checkpoints.localfs import LocalFsStore
from heronpy.plugins.state.localfs.manager import LocalFsStateManager


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(os.devnull, environ={}, flags={"home": str(tmp_path / "home")})


@pytest.fixture
def store(config: Config) -> Iterator[CheckpointStore]:
    store = LocalFsStore()
    store.initialize(config)
    yield store
    store.close()


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = LocalFsStateManager()
    manager.initialize(config)
    yield manager
    manager.close()
