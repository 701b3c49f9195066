"""Opens the state manager and the checkpoint store that the settings name."""

from __future__ import annotations

import functools

from heronpy.kernel.config import Config
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.state_manager import StateManager


@functools.cache
def installed() -> Registry:
    """What is installed, found once in each process."""
    return Registry.load()


def open_state(config: Config, registry: Registry | None = None) -> StateManager:
    """An initialized state manager; close it when done."""
    state = (registry or installed()).state_manager(config["state.manager"])()
    state.initialize(config)
    return state


def open_checkpoint_store(config: Config, registry: Registry | None = None) -> CheckpointStore:
    """An initialized checkpoint store; close it when done."""
    store = (registry or installed()).checkpoint_store(config.text("checkpoint.store"))()
    store.initialize(config)
    return store
