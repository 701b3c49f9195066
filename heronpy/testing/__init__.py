"""For tests: run a topology or a pipeline in this very process, and contracts that plugins keep."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heronpy.testing.clock import Clock
    from heronpy.testing.pipelines.moments import at
    from heronpy.testing.pipelines.pipeline_under_test import PipelineTest
    from heronpy.testing.pipelines.seen_panes import SeenPane, early, late, on_time, taken_back
    from heronpy.testing.run import Counts, TopologyTest

#: name → where it is: found at first use, because the contracts need none of it
_HOMES = {
    "Clock": "clock",
    "Counts": "run",
    "TopologyTest": "run",
    "PipelineTest": "pipelines.pipeline_under_test",
    "SeenPane": "pipelines.seen_panes",
    "early": "pipelines.seen_panes",
    "late": "pipelines.seen_panes",
    "on_time": "pipelines.seen_panes",
    "taken_back": "pipelines.seen_panes",
    "at": "pipelines.moments",
}

__all__ = [
    "Clock",
    "Counts",
    "PipelineTest",
    "SeenPane",
    "TopologyTest",
    "at",
    "early",
    "late",
    "on_time",
    "taken_back",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module 'heronpy.testing' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"heronpy.testing.{_HOMES[name]}"), name)
