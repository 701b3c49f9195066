"""Request and result of the loading process, exchanged as files in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from heronpy.kernel.plans import LogicalPlan, Source


class LoadRequest(msgspec.Struct, frozen=True):
    """What is to be loaded."""

    source: Source
    #: settings that go on top of the file's: `topology.KEY` and `component.NAME.KEY`
    overrides: dict[str, Any] = {}


class Outcome(msgspec.Struct, frozen=True):
    """The result of loading a topology file."""

    plans: list[LogicalPlan] = []
    #: one line, empty if all went well
    error: str = ""
    hint: str = ""
    traceback: str = ""
    #: the file rejected its arguments and has printed its own message
    usage: bool = False


def wanted_file(folder: str) -> Path:
    return Path(folder) / "wanted.json"


def result_file(folder: str) -> Path:
    return Path(folder) / "result.json"
