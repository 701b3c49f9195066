"""A streaming engine for Python: write spouts and bolts, submit the file, scale what runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.bolt import BasicBolt, Bolt
    from heronpy.context import TopologyContext
    from heronpy.kernel.plugin import MetricSink, ResourceManager, Scheduler, StateManager, hookimpl
    from heronpy.spout import Spout
    from heronpy.stream import Grouping, Stream
    from heronpy.topology import Topology, TopologyBuilder
    from heronpy.tuple import Tuple

    __version__: str

__all__ = [
    "BasicBolt",
    "Bolt",
    "Grouping",
    "MetricSink",
    "ResourceManager",
    "Scheduler",
    "Spout",
    "StateManager",
    "Stream",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "Tuple",
    "__version__",
    "hookimpl",
]

#: public name → module that has it; imported at first use, so that `import heronpy.kernel` costs nothing else
_HOMES = {
    "BasicBolt": "heronpy.bolt",
    "Bolt": "heronpy.bolt",
    "Grouping": "heronpy.stream",
    "MetricSink": "heronpy.kernel.plugin",
    "ResourceManager": "heronpy.kernel.plugin",
    "Scheduler": "heronpy.kernel.plugin",
    "Spout": "heronpy.spout",
    "StateManager": "heronpy.kernel.plugin",
    "Stream": "heronpy.stream",
    "Topology": "heronpy.topology",
    "TopologyBuilder": "heronpy.topology",
    "TopologyContext": "heronpy.context",
    "Tuple": "heronpy.tuple",
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
