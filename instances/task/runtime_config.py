"""Config that changes while the topology runs: applied to the engine's parts, then to the component."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from heronpy.instances.control_events import ControlEvents
from heronpy.instances.task.build import Task
from heronpy.kernel.tree.live_node import config_for
from heronpy.logical_plan import tree_limits

#: component, or "" for all of them → config that was given while the topology runs
LiveConfig = Mapping[str, Mapping[str, Any]]


class RuntimeConfig:
    """Keeps the config of one task up to date; `on_config(config)` is called between two tuples."""

    def __init__(self, task: Task, live_config: Callable[[], LiveConfig]) -> None:
        self._task = task
        self._live_config = live_config
        self._context = task.parts.context
        # before initialize(), which gets all that has been given so far
        self._heard = self._newest()
        self._apply()

    def hear(self, _news: ControlEvents) -> None:
        self._heard = self._newest()

    def act(self) -> None:
        if self._heard == self._given:
            return
        changed = {key: value for key, value in self._heard.items() if self._given.get(key) != value}
        self._apply()
        self._task.parts.logger.info("config has changed: %s", changed)
        on_config = getattr(self._task.component, "on_config", None)
        if on_config is not None:
            self._task.parts.counters.other_calls += 1
            on_config(self._context.get_cluster_config())

    def _newest(self) -> dict[str, Any]:
        return config_for(self._live_config(), self._context.get_component_id())

    def _apply(self) -> None:
        self._given = self._heard
        # in place: the component may have kept what initialize() gave it
        config = self._context.get_cluster_config()
        config.update(self._given)
        if self._task.parts.tracker is not None:
            self._task.parts.tracker.limit(*tree_limits(config))
