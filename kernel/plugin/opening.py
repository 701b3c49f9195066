"""Opens the state manager, the checkpoint store and the uploader that the settings name."""

from __future__ import annotations

import functools

from heronpy.kernel.config import Config
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.plugin.uploader import Uploader


@functools.cache
def installed() -> Registry:
    """What is installed, found once in each process and kept.

    A plugin that is installed while the process runs is not found: only processes that start later see
    what an editable install adds to `sys.path`.
    """
    return Registry.load()


def import_used(config: Config) -> None:
    """Import what the processes of a container use; PluginError when one of these plugins is missing."""
    registry = installed()
    registry.state_manager(config.text("state.manager"))
    registry.checkpoint_store(config.text("checkpoint.store"))
    for sink in config.words("metrics.sinks"):
        registry.metric_sink(sink)


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


def open_uploader(config: Config, registry: Registry | None = None) -> Uploader:
    """An initialized uploader; close it when done."""
    uploader = (registry or installed()).uploader(config.text("upload.uploader"))()
    uploader.initialize(config)
    return uploader
