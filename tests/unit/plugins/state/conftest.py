"""Clients of one localfs store."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.localfs.manager import LocalFsStateManager

Opener = Callable[[Path], StateManager]


@pytest.fixture
def open_state() -> Iterator[Opener]:
    """Opens clients of the store below a home folder, and closes them all at the end."""
    with contextlib.ExitStack() as stack:

        def opened(home: Path) -> StateManager:
            manager = LocalFsStateManager()
            manager.initialize(load_config(os.devnull, environ={}, flags={"home": str(home)}))
            stack.callback(manager.close)
            return manager

        yield opened


@pytest.fixture
def state(open_state: Opener, tmp_path: Path) -> StateManager:
    return open_state(tmp_path)
