"""A plan as a drawing for Mermaid or Graphviz, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from heronpy.pipeline.graph import Graph, HashJoinOp
from heronpy.planner.explain import shown
from heronpy.planner.planning import stages


def mermaid(graph: Graph) -> str:
    """A flow chart: a box for each stage, an arrow for each edge."""
    numbers = {step.name: f"s{number}" for number, step in enumerate(graph.steps)}
    lines = ["flowchart LR"]
    for number, stage in enumerate(stages(graph)):
        lines.append(f'  subgraph stage{number}["{stage.name}"]')
        lines += [f'    {numbers[step.name]}["{shown(step)}"]' for step in stage.steps]
        lines.append("  end")
    for source, reader, label in _edges(graph):
        arrow = f"-- {json.dumps(label, ensure_ascii=False)} -->" if label else "-->"
        lines.append(f"  {numbers[source]} {arrow} {numbers[reader]}")
    return "\n".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """A graph in Graphviz' language: `dot -Tsvg`."""
    quoted = _quoted
    lines = [f"digraph {quoted(graph.name)} {{", "  rankdir=LR; node [shape=box];"]
    for number, stage in enumerate(stages(graph)):
        lines.append(f"  subgraph cluster_{number} {{ label={quoted(stage.name)};")
        lines += [f"    {quoted(step.name)} [label={quoted(shown(step))}];" for step in stage.steps]
        lines.append("  }")
    for source, reader, label in _edges(graph):
        lines.append(f"  {quoted(source)} -> {quoted(reader)} [label={quoted(label)}];")
    return "\n".join([*lines, "}"]) + "\n"


def plan_json(graph: Graph, *, cores: int, splits: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The plan as values that JSON has."""
    return {
        "pipeline": graph.name,
        "stages": [
            {
                "name": stage.name,
                "kind": stage.kind,
                "tasks": stage.tasks(cores, splits or {}),
                "state": stage.state,
                "steps": [
                    {
                        "name": step.name,
                        "operation": step.op.word,
                        "derived": step.derived,
                        "at": f"{step.site.file}:{step.site.line}",
                    }
                    for step in stage.steps
                ],
            }
            for stage in stages(graph)
        ],
        "edges": [
            {
                "from": read.step,
                "output": read.output,
                "to": step.name,
                "key": read.key.step if read.key is not None else None,
                "exchange": read.exchange,
            }
            for step in graph.steps
            for read in step.inputs
        ],
        "tables": {
            step.name: plan_json(step.op.table, cores=cores, splits=splits)
            for step in graph.steps
            if isinstance(step.op, HashJoinOp) and step.op.table is not None
        },
        "unread": list(graph.unread),
    }


def _edges(graph: Graph) -> Iterator[tuple[str, str, str]]:
    for step in graph.steps:
        for read in step.inputs:
            key = read.key.step if read.key is not None else ""
            exchange = "" if read.exchange == "none" else read.exchange
            output = f".{read.output}" if read.output else ""
            yield read.step, step.name, " ".join(filter(None, (output, key, exchange)))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
