"""Settings, and a state tree in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import open_state


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(
        environ={}, flags={"home": str(tmp_path), "update.timeout": "5s", "checkpoint.timeout": "5s"}
    )


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    manager = open_state(config)
    yield manager
    manager.close()
