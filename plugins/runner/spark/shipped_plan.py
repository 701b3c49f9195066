"""The plan as it travels to Spark's workers: functions and classes of the user's file by value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.printed import PrintedSink
from heronpy.kernel.errors import UserError
from heronpy.pipeline.graph import Graph, HashJoinOp, Step, WriteOp
from heronpy.plugins.runner.spark.layout import Chain
from heronpy.serializer import default_serializer


@dataclass(frozen=True)
class ShippedPlan:
    """All that a worker needs to run any chain of a plan."""

    plan: Graph
    chains: tuple[Chain, ...]
    #: the splits of each source
    splits: Mapping[str, Sequence[str]]
    #: the rows of each hash join's table
    tables: Mapping[str, Sequence[Any]]
    #: what no other run is called, even of the same pipeline
    run: str

    def dumps(self) -> bytes:
        """As bytes; a UserError that names the step whose function or source cannot be sent."""
        plain = dataclasses.replace(self, plan=self.plan.changed(lambda step: [_without_driver(step)]))
        try:
            return default_serializer.serialize(plain)
        except Exception as error:
            for step in plain.plan.steps:
                _check_sendable(step)
            msg = f"the pipeline {self.plan.name!r} cannot be sent to Spark's workers: {_said(error)}"
            raise UserError(msg, hint="a table or a source has rows that cannot be pickled") from error


@functools.lru_cache(maxsize=2)
def load(file: str) -> ShippedPlan:
    """In a worker: once for each plan, however many tasks there are."""
    found: ShippedPlan = default_serializer.deserialize(Path(file).read_bytes())
    return found


def is_on_driver(sink: object) -> bool:
    """Whether a sink belongs to the process that runs the pipeline: its records come back to it."""
    return isinstance(sink, PrintedSink | CollectedSink)


def _without_driver(step: Step) -> Step:
    match step.op:
        case WriteOp(sink=sink) if is_on_driver(sink):
            return dataclasses.replace(step, op=WriteOp(PrintedSink()))
        case HashJoinOp() as op:
            return dataclasses.replace(step, op=dataclasses.replace(op, table=None))
    return step


def _check_sendable(step: Step) -> None:
    try:
        default_serializer.serialize(step)
    except Exception as error:
        msg = f"step {step.name!r} at {step.site} cannot be sent to Spark's workers: {_said(error)}"
        raise UserError(msg, hint="open files, locks and connections inside the function") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
