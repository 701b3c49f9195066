"""A streaming engine for Python: write spouts and bolts, submit the file, scale what runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.bolt import BasicBolt, Bolt
    from heronpy.column_schema import Schema
    from heronpy.context import TopologyContext
    from heronpy.custom_grouping import ICustomGrouping
    from heronpy.kernel.config import Config
    from heronpy.kernel.errors import (
        ConfigError,
        DamagedNode,
        KeyNotOwned,
        NodeExists,
        NodeMissing,
        ObjectMissing,
        PackingError,
        PluginError,
        StateError,
        StoreError,
        TimedOut,
        UploadError,
        UserError,
        VersionConflict,
    )
    from heronpy.kernel.plans import ContainerPlan, InstancePlan, LogicalPlan, PackingPlan, Resources
    from heronpy.kernel.plugin import (
        CheckpointStore,
        ContainerExit,
        Launch,
        Launcher,
        MetricSink,
        Node,
        ResourceManager,
        Runner,
        RunTotals,
        Scheduler,
        Shipped,
        StateManager,
        UnsupportedOnRunner,
        Uploader,
        Watch,
        hookimpl,
    )
    from heronpy.kernel.plugin.metric_sink import Sample
    from heronpy.pipeline.pipeline import Pipeline
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
    "ConfigError",
    "ContainerExit",
    "ContainerPlan",
    "DamagedNode",
    "FileSink",
    "Grouping",
    "ICustomGrouping",
    "InstancePlan",
    "KeyNotOwned",
    "Launch",
    "Launcher",
    "LogicalPlan",
    "MetricSink",
    "Node",
    "NodeExists",
    "NodeMissing",
    "ObjectMissing",
    "PackingError",
    "PackingPlan",
    "Pipeline",
    "PluginError",
    "ResourceManager",
    "Resources",
    "RunTotals",
    "Runner",
    "SQLiteSink",
    "Sample",
    "Scheduler",
    "Schema",
    "Shipped",
    "SlidingWindowBolt",
    "Spout",
    "StateError",
    "StateManager",
    "StoreError",
    "Stream",
    "TimedOut",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "TransactionalSink",
    "TumblingWindowBolt",
    "Tuple",
    "UnsupportedOnRunner",
    "UploadError",
    "Uploader",
    "UserError",
    "VersionConflict",
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
    "ConfigError": "heronpy.kernel.errors",
    "ContainerExit": "heronpy.kernel.plugin",
    "ContainerPlan": "heronpy.kernel.plans",
    "DamagedNode": "heronpy.kernel.errors",
    "FileSink": "heronpy.sinks",
    "Grouping": "heronpy.stream",
    "ICustomGrouping": "heronpy.custom_grouping",
    "InstancePlan": "heronpy.kernel.plans",
    "KeyNotOwned": "heronpy.kernel.errors",
    "Launch": "heronpy.kernel.plugin",
    "Launcher": "heronpy.kernel.plugin",
    "LogicalPlan": "heronpy.kernel.plans",
    "MetricSink": "heronpy.kernel.plugin",
    "Node": "heronpy.kernel.plugin",
    "NodeExists": "heronpy.kernel.errors",
    "NodeMissing": "heronpy.kernel.errors",
    "ObjectMissing": "heronpy.kernel.errors",
    "PackingError": "heronpy.kernel.errors",
    "PackingPlan": "heronpy.kernel.plans",
    "Pipeline": "heronpy.pipeline.pipeline",
    "PluginError": "heronpy.kernel.errors",
    "ResourceManager": "heronpy.kernel.plugin",
    "Resources": "heronpy.kernel.plans",
    "RunTotals": "heronpy.kernel.plugin",
    "Runner": "heronpy.kernel.plugin",
    "SQLiteSink": "heronpy.sinks",
    "Sample": "heronpy.kernel.plugin.metric_sink",
    "Scheduler": "heronpy.kernel.plugin",
    "Schema": "heronpy.column_schema",
    "Shipped": "heronpy.kernel.plugin",
    "SlidingWindowBolt": "heronpy.window",
    "Spout": "heronpy.spout",
    "StateError": "heronpy.kernel.errors",
    "StateManager": "heronpy.kernel.plugin",
    "StoreError": "heronpy.kernel.errors",
    "TimedOut": "heronpy.kernel.errors",
    "Stream": "heronpy.stream",
    "Topology": "heronpy.topology",
    "TopologyBuilder": "heronpy.topology",
    "TopologyContext": "heronpy.context",
    "TransactionalSink": "heronpy.transactions",
    "TumblingWindowBolt": "heronpy.window",
    "Tuple": "heronpy.tuple",
    "UnsupportedOnRunner": "heronpy.kernel.plugin",
    "UploadError": "heronpy.kernel.errors",
    "Uploader": "heronpy.kernel.plugin",
    "UserError": "heronpy.kernel.errors",
    "VersionConflict": "heronpy.kernel.errors",
    "Watch": "heronpy.kernel.plugin",
    "hookimpl": "heronpy.kernel.plugin",
}

#: what pickles in checkpoints name, and must find in every version
_SAVED = {
    "saved_id": ("heronpy.instances.acking.anchored", "rebuilt_id"),
    "saved_tuple": ("heronpy.tuple", "_rebuild"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("heron-py")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _SAVED:
        module, function = _SAVED[name]
        value = getattr(importlib.import_module(module), function)
    else:
        msg = f"module 'heronpy' has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
