"""What the loading process and the one that asked for it tell each other, in files of one folder."""

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
    """What became of a topology file."""

    plans: list[LogicalPlan] = []
    #: one line, empty if all went well
    error: str = ""
    hint: str = ""
    traceback: str = ""
    #: the file refused its own arguments and has said so itself
    usage: bool = False


def wanted_file(folder: str) -> Path:
    return Path(folder) / "wanted.json"


def result_file(folder: str) -> Path:
    return Path(folder) / "result.json"
