"""Opens the state manager and the checkpoint store that the settings name."""

from __future__ import annotations

from heronpy.kernel.config import Config
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.state_manager import StateManager


def open_state(config: Config, registry: Registry | None = None) -> StateManager:
    """An initialized state manager; close it when done."""
    state = (registry or Registry.load()).state_manager(config["state.manager"])()
    state.initialize(config)
    return state


def open_checkpoint_store(config: Config, registry: Registry | None = None) -> CheckpointStore:
    """An initialized checkpoint store; close it when done."""
    store = (registry or Registry.load()).checkpoint_store(config.text("checkpoint.store"))()
    store.initialize(config)
    return store
