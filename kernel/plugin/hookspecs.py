"""Every hook a plugin may implement. Each returns a mapping of name to class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
    from heronpy.kernel.plugin.metric_sink import MetricSink
    from heronpy.kernel.plugin.resource_manager import ResourceManager
    from heronpy.kernel.plugin.runner import Runner
    from heronpy.kernel.plugin.scheduler import Scheduler
    from heronpy.kernel.plugin.state_manager import StateManager
    from heronpy.kernel.plugin.uploader import Uploader

PROJECT = "heronpy"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def heron_resource_managers() -> Mapping[str, type[ResourceManager]]:  # type: ignore[empty-body]
    """Packing algorithms for `--packing`. Called once when the registry is loaded."""


@hookspec
def heron_schedulers() -> Mapping[str, type[Scheduler]]:  # type: ignore[empty-body]
    """Schedulers for `--scheduler`. Called once when the registry is loaded."""


@hookspec
def heron_state_managers() -> Mapping[str, type[StateManager]]:  # type: ignore[empty-body]
    """State managers for `--state`. Called once when the registry is loaded."""


@hookspec
def heron_metric_sinks() -> Mapping[str, type[MetricSink]]:  # type: ignore[empty-body]
    """Sinks for the setting `metrics.sinks`. Called once when the registry is loaded."""


@hookspec
def heron_checkpoint_stores() -> Mapping[str, type[CheckpointStore]]:  # type: ignore[empty-body]
    """Stores for the setting `checkpoint.store`. Called once when the registry is loaded."""


@hookspec
def heron_uploaders() -> Mapping[str, type[Uploader]]:  # type: ignore[empty-body]
    """Uploaders for the setting `upload.uploader`. Called once when the registry is loaded."""


@hookspec
def heron_runners() -> Mapping[str, type[Runner]]:  # type: ignore[empty-body]
    """Runners of pipelines for `--runner`. Called once when the registry is loaded."""


@hookspec
def heron_cli_commands() -> Mapping[str, click.Command]:  # type: ignore[empty-body]
    """Further verbs of `heronpy`. Called when a verb is not one of ours, and for `heronpy --help`."""
