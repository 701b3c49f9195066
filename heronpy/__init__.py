"""A streaming engine for Python: write spouts and bolts, submit the file, scale what runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.bolt import BasicBolt, Bolt
    from heronpy.context import TopologyContext
    from heronpy.custom_grouping import ICustomGrouping
    from heronpy.kernel.config import Config
    from heronpy.kernel.errors import KeyNotOwned, UserError
    from heronpy.kernel.plans import LogicalPlan, PackingPlan
    from heronpy.kernel.plugin import (
        CheckpointStore,
        ContainerExit,
        Launch,
        Launcher,
        MetricSink,
        Node,
        ResourceManager,
        Scheduler,
        Shipped,
        StateManager,
        Uploader,
        Watch,
        hookimpl,
    )
    from heronpy.kernel.plugin.metric_sink import Sample
    from heronpy.sinks import FileSink, SQLiteSink
    from heronpy.spout import Spout
    from heronpy.stream import Grouping, Stream
    from heronpy.topology import Topology, TopologyBuilder
    from heronpy.transactions import TransactionalSink
    from heronpy.tuple import Tuple
    from heronpy.window import SlidingWindowBolt, TumblingWindowBolt

    __version__: str

__all__ = [
    "BasicBolt",
    "Bolt",
    "CheckpointStore",
    "Config",
    "ContainerExit",
    "FileSink",
    "Grouping",
    "ICustomGrouping",
    "KeyNotOwned",
    "Launch",
    "Launcher",
    "LogicalPlan",
    "MetricSink",
    "Node",
    "PackingPlan",
    "ResourceManager",
    "SQLiteSink",
    "Sample",
    "Scheduler",
    "Shipped",
    "SlidingWindowBolt",
    "Spout",
    "StateManager",
    "Stream",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "TransactionalSink",
    "TumblingWindowBolt",
    "Tuple",
    "Uploader",
    "UserError",
    "Watch",
    "__version__",
    "hookimpl",
]

#: public name → module that has it; imported at first use, so that `import heronpy.kernel` costs nothing else
_HOMES = {
    "BasicBolt": "heronpy.bolt",
    "Bolt": "heronpy.bolt",
    "CheckpointStore": "heronpy.kernel.plugin",
    "Config": "heronpy.kernel.config",
    "ContainerExit": "heronpy.kernel.plugin",
    "FileSink": "heronpy.sinks",
    "Grouping": "heronpy.stream",
    "ICustomGrouping": "heronpy.custom_grouping",
    "KeyNotOwned": "heronpy.kernel.errors",
    "Launch": "heronpy.kernel.plugin",
    "Launcher": "heronpy.kernel.plugin",
    "LogicalPlan": "heronpy.kernel.plans",
    "MetricSink": "heronpy.kernel.plugin",
    "Node": "heronpy.kernel.plugin",
    "PackingPlan": "heronpy.kernel.plans",
    "ResourceManager": "heronpy.kernel.plugin",
    "SQLiteSink": "heronpy.sinks",
    "Sample": "heronpy.kernel.plugin.metric_sink",
    "Scheduler": "heronpy.kernel.plugin",
    "Shipped": "heronpy.kernel.plugin",
    "SlidingWindowBolt": "heronpy.window",
    "Spout": "heronpy.spout",
    "StateManager": "heronpy.kernel.plugin",
    "Stream": "heronpy.stream",
    "Topology": "heronpy.topology",
    "TopologyBuilder": "heronpy.topology",
    "TopologyContext": "heronpy.context",
    "TransactionalSink": "heronpy.transactions",
    "TumblingWindowBolt": "heronpy.window",
    "Tuple": "heronpy.tuple",
    "Uploader": "heronpy.kernel.plugin",
    "UserError": "heronpy.kernel.errors",
    "Watch": "heronpy.kernel.plugin",
    "hookimpl": "heronpy.kernel.plugin",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("heron-py")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        msg = f"module 'heronpy' has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
