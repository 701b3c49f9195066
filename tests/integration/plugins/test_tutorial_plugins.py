"""The scheduler and the packing policy of the plugin tutorial keep their contracts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from heronpy import ResourceManager, Scheduler
from heronpy.testing.contracts.packing import PackingContract
from heronpy.testing.contracts.scheduler import SchedulerContract

pytestmark = pytest.mark.cluster

TUTORIAL = (Path(__file__).parents[3] / "docs" / "plugin-tutorial.md").read_text()


def shown_class(name: str) -> Any:
    """A class as the tutorial defines it."""
    blocks = re.findall(r"^```python\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if f"class {name}(" in block)
    defined: dict[str, Any] = {}
    exec(compile(block, "docs/plugin-tutorial.md", "exec"), defined)
    return defined[name]


class TestPlainScheduler(SchedulerContract):
    def make(self) -> Scheduler:
        made: Scheduler = shown_class("PlainScheduler")()
        return made


class TestOneEachPacking(PackingContract):
    def make(self) -> ResourceManager:
        made: ResourceManager = shown_class("OneEachPacking")()
        return made
