"""Request and result of the process that loads a file, exchanged as files in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from heronpy.kernel.plans import LogicalPlan, Source

Drawing: TypeAlias = Literal["table", "json", "mermaid", "dot"]


class LoadRequest(msgspec.Struct, frozen=True, tag="load"):
    """What is to be loaded, for the plans of its topologies."""

    source: Source
    #: settings that go on top of the file's: `topology.KEY` and `component.NAME.KEY`
    overrides: dict[str, Any] = {}


class RunRequest(msgspec.Struct, frozen=True, tag="run"):
    """A file whose pipelines are to be run, unless it has topologies: then their plans are the result."""

    load: LoadRequest
    #: the effective settings, as Config.to_plain() gave them
    settings: dict[str, Any]
    #: process that the run must not outlive
    parent: int
    #: name of the runner; empty: it was not asked for one
    runner: str = ""
    #: name of the pipeline, instead of its own
    name: str = ""
    #: whether to find out what each run costs, which takes a look at every process of the machine
    measured: bool = False


class RunCost(msgspec.Struct, frozen=True):
    """What one run of a pipeline has written, and what it took from its first record to its last."""

    written: int
    seconds: float
    #: of this process and all that it has started
    cpu_seconds: float


class ExplainRequest(msgspec.Struct, frozen=True, tag="explain"):
    """A file whose pipelines are to be shown as planned."""

    source: Source
    form: Drawing = "table"


Request: TypeAlias = LoadRequest | RunRequest | ExplainRequest


class Outcome(msgspec.Struct, frozen=True):
    """What became of a request."""

    plans: list[LogicalPlan] = []
    #: one line, empty if all went well
    error: str = ""
    hint: str = ""
    traceback: str = ""
    #: the file rejected its arguments and has printed its own message
    usage: bool = False
    #: whether pipelines were run
    ran: bool = False
    #: an interrupt came before the end of an input that has one
    unfinished: bool = False
    #: the reader of what the pipelines print has gone
    unread: bool = False
    #: plans of pipelines, in the form that was asked for
    shown: str = ""
    #: of each pipeline that was run, if that was asked for
    costs: list[RunCost] = []


def wanted_file(folder: str) -> Path:
    return Path(folder) / "wanted.json"


def result_file(folder: str) -> Path:
    return Path(folder) / "result.json"
