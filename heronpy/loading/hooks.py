"""Loads the task hooks that a topology's config names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heronpy.constants import TOPOLOGY_AUTO_TASK_HOOKS
from heronpy.context import TopologyContext
from heronpy.kernel.errors import TopologyError
from heronpy.task_hook import ITaskHook


def load_auto_hooks(context: TopologyContext, find_class: Callable[[str], type[Any]]) -> None:
    """Add the hooks of `topology.auto.task.hooks`. Called before the component's initialize."""
    paths = context.get_cluster_config().get(TOPOLOGY_AUTO_TASK_HOOKS) or []
    if not isinstance(paths, (list, tuple)):
        msg = f"{TOPOLOGY_AUTO_TASK_HOOKS} must be a list of class paths, got {paths!r}"
        raise TopologyError(msg)
    for path in paths:
        hook = find_class(str(path))
        if not issubclass(hook, ITaskHook):
            msg = f"{TOPOLOGY_AUTO_TASK_HOOKS} names {path!r}, which is no ITaskHook"
            raise TopologyError(msg)
        context.add_task_hook(hook())
