"""What the loading process and the one that asked for it tell each other, in files of one folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from heronpy.kernel.plans import LogicalPlan


class Outcome(msgspec.Struct, frozen=True):
    """What became of a topology file."""

    plans: list[LogicalPlan] = []
    #: one line, empty if all went well
    error: str = ""
    hint: str = ""
    traceback: str = ""
    #: the file refused its own arguments and has said so itself
    usage: bool = False


def source_file(folder: str) -> Path:
    return Path(folder) / "source.json"


def result_file(folder: str) -> Path:
    return Path(folder) / "result.json"
