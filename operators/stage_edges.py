"""Edges: what leaves a stage for another."""

from __future__ import annotations

from typing import NamedTuple

from heronpy.pipeline.graph import StepInput


class Edge(NamedTuple):
    """Rows that leave a stage: an output of a step, with the key that its readers want."""

    step: str
    output: str
    key: str


def edge_of(read: StepInput) -> Edge:
    return Edge(read.step, read.output, read.key.step if read.key is not None else "")
