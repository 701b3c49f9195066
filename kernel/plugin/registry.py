"""Finds plugins through entry points and hands out their classes by name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pluggy

from heronpy.kernel.errors import PluginError, did_you_mean
from heronpy.kernel.plugin import hookspecs

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
    from heronpy.kernel.plugin.metric_sink import MetricSink
    from heronpy.kernel.plugin.resource_manager import ResourceManager
    from heronpy.kernel.plugin.runner import Runner
    from heronpy.kernel.plugin.scheduler import Scheduler
    from heronpy.kernel.plugin.state_manager import StateManager
    from heronpy.kernel.plugin.uploader import Uploader

log = logging.getLogger(__name__)

#: where plugins of our own are
BUILT_IN = "heronpy.plugins."

#: hook name → name of the kind in messages
KINDS = {
    "heron_resource_managers": "packing",
    "heron_schedulers": "scheduler",
    "heron_state_managers": "state",
    "heron_metric_sinks": "metric sink",
    "heron_checkpoint_stores": "checkpoint store",
    "heron_uploaders": "uploader",
    "heron_runners": "runner",
    "heron_cli_commands": "command",
}


class PluginOrigin(msgspec.Struct, frozen=True):
    """Where a plugin came from."""

    #: distribution and version, for a person
    text: str
    #: name of the distribution; empty when the plugin was registered in this process
    distribution: str = ""


class Provided(msgspec.Struct, frozen=True):
    """One thing that one plugin provides."""

    kind: str
    name: str
    #: the hook's answer, which may import a class only when it is looked up
    answer: Mapping[str, Any]
    #: distribution and version it came from
    origin: str
    #: name of the distribution; empty when it was registered in this process
    distribution: str = ""

    @property
    def value(self) -> Any:
        return self.answer[self.name]


class Registry:
    """All plugins that are installed. Built-in plugins use the same entry points as all others.

    A plugin that cannot be loaded is left out and listed in `broken`; only a request for it is an error.
    """

    def __init__(
        self,
        plugins: pluggy.PluginManager,
        broken: Mapping[str, str] = {},
        origins: Mapping[str, PluginOrigin] = {},
    ) -> None:
        """`origins` has those that did not come from this process, by the name they are registered with."""
        self._provided: dict[tuple[str, str], Provided] = {}
        #: where a plugin came from → why it is left out
        self.broken = dict(broken)
        for name, plugin in plugins.list_name_plugin():
            if plugin is None:
                continue
            origin = origins.get(name) or PluginOrigin(f"{name} (registered in process)")
            try:
                self._add_all(_answers(plugins, plugin, origin))
            except Exception as error:
                self.broken[origin.text] = _reason(error)
        for left_out, reason in self.broken.items():
            log.warning("the plugin %s cannot be used and is left out: %s", left_out, reason)

    @classmethod
    def load(cls) -> Registry:
        """Load every entry point of the group `heronpy`."""
        plugins = pluggy.PluginManager(hookspecs.PROJECT)
        plugins.add_hookspecs(hookspecs)
        broken, origins = {}, {}
        for origin, entry in _entry_points():
            name = f"{origin.text}: {entry.name}"
            try:
                plugins.register(entry.load(), name)
                origins[name] = origin
            except Exception as error:
                broken[origin.text] = _reason(error)
                if plugins.has_plugin(name):
                    plugins.unregister(name=name)
        return cls(plugins, broken, origins)

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

    def runner(self, name: str) -> type[Runner]:
        return cast("type[Runner]", self.provided("runner", name).value)

    def listing(self) -> list[Provided]:
        """Everything provided, by kind and name."""
        return sorted(self._provided.values(), key=lambda provided: (provided.kind, provided.name))

    def provided(self, kind: str, name: str) -> Provided:
        """What a plugin of this kind and name is, and where it came from."""
        provided = self._provided.get((kind, name))
        if provided is None:
            known = [name for found, name in self._provided if found == kind]
            msg = f"no {kind} plugin named {name!r}{did_you_mean(name, known)}"
            left_out = "; ".join(f"{origin} cannot be used: {why}" for origin, why in self.broken.items())
            raise PluginError(
                msg, hint=f"repair or uninstall what is left out: {left_out}" if left_out else ""
            )
        return provided

    def _add_all(self, answers: list[Provided]) -> None:
        """All that one plugin provides, or nothing of it."""
        for provided in answers:
            first = self._provided.get((provided.kind, provided.name))
            if first is not None:
                msg = f"the {provided.kind} {provided.name!r} is provided by {first.origin} already"
                raise PluginError(msg)
        self._provided |= {(provided.kind, provided.name): provided for provided in answers}


def _entry_points() -> list[tuple[PluginOrigin, EntryPoint]]:
    """All of them, whether or not they can be loaded; our own first, which none replaces."""
    from importlib.metadata import distributions  # dear, and not every process looks for plugins

    found: dict[tuple[bool, str, str], tuple[PluginOrigin, EntryPoint]] = {}
    for each in distributions():
        for entry in each.entry_points:
            if entry.group == hookspecs.PROJECT:
                name = each.metadata["Name"]
                origin = PluginOrigin(f"{name} {each.version}", name)
                # a distribution is found once for each place in sys.path that leads to it: the first counts
                found.setdefault(
                    (not entry.value.startswith(BUILT_IN), origin.text, entry.name), (origin, entry)
                )
    return [found[key] for key in sorted(found)]


def _answers(plugins: pluggy.PluginManager, plugin: object, origin: PluginOrigin) -> list[Provided]:
    found = []
    for caller in plugins.get_hookcallers(plugin) or ():
        if caller.name not in KINDS:
            msg = f"it implements an unknown hook {caller.name}; there are {', '.join(KINDS)}"
            raise PluginError(msg)
        for implementation in caller.get_hookimpls():
            if implementation.plugin is plugin:
                answer = _answer(caller.name, implementation)
                kind = KINDS[caller.name]
                found += [Provided(kind, name, answer, origin.text, origin.distribution) for name in answer]
    return found


def _answer(hook: str, implementation: pluggy.HookImpl) -> Mapping[str, Any]:
    answer = implementation.function()
    if not isinstance(answer, Mapping):
        msg = f"{hook} returned {answer!r}, not a mapping of name to class"
        raise PluginError(msg)
    return answer


def _reason(error: Exception) -> str:
    """In one line; a plugin may raise anything when it is imported."""
    words = " ".join(str(error).split())
    return words if isinstance(error, ImportError | PluginError) else f"{type(error).__name__}: {words}"
