"""Finds plugins through entry points and hands out their classes by name."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pluggy

from heronpy.kernel.errors import PluginError, did_you_mean
from heronpy.kernel.plugin import hookspecs

if TYPE_CHECKING:
    from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
    from heronpy.kernel.plugin.metric_sink import MetricSink
    from heronpy.kernel.plugin.resource_manager import ResourceManager
    from heronpy.kernel.plugin.scheduler import Scheduler
    from heronpy.kernel.plugin.state_manager import StateManager
    from heronpy.kernel.plugin.uploader import Uploader

#: hook name → what a person calls the kind
KINDS = {
    "heron_resource_managers": "packing",
    "heron_schedulers": "scheduler",
    "heron_state_managers": "state",
    "heron_metric_sinks": "metric sink",
    "heron_checkpoint_stores": "checkpoint store",
    "heron_uploaders": "uploader",
    "heron_cli_commands": "command",
}


class Provided(msgspec.Struct, frozen=True):
    """One thing that one plugin provides."""

    kind: str
    name: str
    value: Any
    #: distribution and version it came from
    origin: str
    #: name of the distribution; empty when it was registered in this process
    distribution: str = ""


class Registry:
    """All plugins that are installed. Built-ins come in through the same entry points as a stranger's."""

    def __init__(self, plugins: pluggy.PluginManager) -> None:
        self._provided: dict[tuple[str, str], Provided] = {}
        _refuse_misspelt_hooks(plugins)
        for hook, kind in KINDS.items():
            for implementation in getattr(plugins.hook, hook).get_hookimpls():
                distribution, origin = _origin(plugins, implementation.plugin)
                for name, value in _answer(hook, implementation, origin).items():
                    self._add(Provided(kind, name, value, origin, distribution))

    @classmethod
    def load(cls) -> Registry:
        """Load every entry point of the group `heronpy`."""
        plugins = pluggy.PluginManager(hookspecs.PROJECT)
        plugins.add_hookspecs(hookspecs)
        try:
            plugins.load_setuptools_entrypoints(hookspecs.PROJECT)
        except Exception as error:
            msg = f"a plugin could not be loaded: {error}"
            raise PluginError(
                msg, hint="uninstall or repair it; `pip list` shows what is installed"
            ) from error
        return cls(plugins)

    def resource_manager(self, name: str) -> type[ResourceManager]:
        return cast("type[ResourceManager]", self.provided("packing", name).value)

    def scheduler(self, name: str) -> type[Scheduler]:
        return cast("type[Scheduler]", self.provided("scheduler", name).value)

    def state_manager(self, name: str) -> type[StateManager]:
        return cast("type[StateManager]", self.provided("state", name).value)

    def metric_sink(self, name: str) -> type[MetricSink]:
        return cast("type[MetricSink]", self.provided("metric sink", name).value)

    def checkpoint_store(self, name: str) -> type[CheckpointStore]:
        return cast("type[CheckpointStore]", self.provided("checkpoint store", name).value)

    def uploader(self, name: str) -> type[Uploader]:
        return cast("type[Uploader]", self.provided("uploader", name).value)

    def listing(self) -> list[Provided]:
        """Everything provided, by kind and name."""
        return sorted(self._provided.values(), key=lambda provided: (provided.kind, provided.name))

    def _add(self, provided: Provided) -> None:
        key = (provided.kind, provided.name)
        if key in self._provided:
            first = self._provided[key]
            both = f"{first.origin} and {provided.origin}"
            msg = f"two plugins provide the {provided.kind} {provided.name!r}: {both}"
            raise PluginError(msg, hint="uninstall one of them")
        self._provided[key] = provided

    def provided(self, kind: str, name: str) -> Provided:
        """What a plugin of this kind and name is, and where it came from."""
        provided = self._provided.get((kind, name))
        if provided is None:
            known = [name for found, name in self._provided if found == kind]
            msg = f"no {kind} plugin named {name!r}{did_you_mean(name, known)}"
            raise PluginError(msg)
        return provided


def _answer(hook: str, implementation: pluggy.HookImpl, origin: str) -> Mapping[str, Any]:
    answer = implementation.function()
    if not isinstance(answer, Mapping):
        msg = f"{hook} of {origin} returned {answer!r}, not a mapping of name to class"
        raise PluginError(msg, hint="uninstall or repair that plugin")
    return answer


def _refuse_misspelt_hooks(plugins: pluggy.PluginManager) -> None:
    """pluggy ignores a hook it has no specification for; we want to hear of it at start."""
    try:
        plugins.check_pending()
    except pluggy.PluginValidationError as error:
        msg = f"plugin {error.plugin!r} implements an unknown hook: {error}"
        raise PluginError(msg, hint="one of " + ", ".join(KINDS)) from error


def _origin(plugins: pluggy.PluginManager, plugin: object) -> tuple[str, str]:
    """The distribution's name, and what to show a person."""
    for candidate, distribution in plugins.list_plugin_distinfo():
        if candidate is plugin:
            found = cast("importlib.metadata.Distribution", distribution)
            return found.metadata["Name"], f"{found.metadata['Name']} {found.version}"
    return "", "registered in process"
