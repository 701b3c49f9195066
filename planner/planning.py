"""The passes in their order, and the stages that come out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from heronpy.kernel.config.units import format_duration
from heronpy.pipeline.graph import (
    ENDS,
    STATEFUL,
    AggregateOp,
    FinalOp,
    Graph,
    HashJoinOp,
    PartialOp,
    ProcessOp,
    ReadOp,
    Step,
    StepInput,
    TableOp,
    WindowOp,
)
from heronpy.pipeline.windows import EverythingWindow
from heronpy.planner.component_ends import adapted
from heronpy.planner.edge_keys import keyed
from heronpy.planner.exchanges import exchanged
from heronpy.planner.fusion import fused
from heronpy.planner.lifting import lifted
from heronpy.planner.reach import checked, read_only
from heronpy.planner.stage_names import named


@dataclass(frozen=True)
class PlannedStage:
    """Steps that run together in each of its tasks: a spout or a bolt of the topology."""

    name: str
    steps: tuple[Step, ...]

    @property
    def kind(self) -> Literal["spout", "bolt"]:
        return "spout" if isinstance(self.steps[0].op, ReadOp) else "bolt"

    @property
    def inputs(self) -> tuple[tuple[Step, StepInput], ...]:
        """What comes from other stages, and the step that reads it."""
        return tuple((step, i) for step in self.steps for i in step.inputs if i.exchange != "none")

    @property
    def stateful(self) -> tuple[Step, ...]:
        """The steps that keep something between records."""
        return tuple(step for step in self.steps if isinstance(step.op, STATEFUL))

    @property
    def state(self) -> str:
        """What its tasks keep, in words."""
        kept = self.stateful
        if not kept:
            return "split positions" if self.kind == "spout" else "-"
        if all(isinstance(s.op, WindowOp) and not s.op.keyed for s in kept):
            return "one window, never closes" if any(map(_never_closes, kept)) else "windows"
        if all(isinstance(s.op, AggregateOp | FinalOp) and not s.op.keyed for s in kept):
            return "one value, ends with the input"
        closing = [s for s in kept if isinstance(s.op, WindowOp) and not _never_closes(s)]
        if len(closing) == len(kept):
            return "windows of keys"
        if kept[0].bounded:
            return "keyed, ends with the input"
        forgotten = [s.op.ttl for s in kept if isinstance(s.op, ProcessOp) and s.op.ttl is not None]
        if len(forgotten) + len(closing) < len(kept):
            return "keyed, grows with keys"
        ttl = format_duration(max(forgotten) / 1_000_000)
        return f"{'windows of keys; ' if closing else ''}keyed, forgotten after {ttl}"

    def tasks(self, cores: int, splits: Mapping[str, int]) -> int:
        """How many it has: what was asked for, else by its source's splits and the cores of the machine."""
        asked = [step.par for step in self.steps if step.par is not None]
        if asked:
            return asked[0]
        first = self.steps[0]
        if isinstance(first.op, ReadOp):
            return max(1, min(splits.get(first.name, 1), cores))
        alone = isinstance(first.op, ENDS)
        return 1 if alone or any(i.exchange == "lowest" for i in first.inputs) else cores


def planned(graph: Graph) -> Graph:
    """The graph with its steps in stages and exchanges on its edges."""
    graph = read_only(checked(graph))
    # what only a table reads is in the plan of that table
    needed = dataclasses.replace(read_only(with_tables(graph)), unread=graph.unread)
    return named(exchanged(fused(lifted(keyed(adapted(needed))))))


def with_tables(graph: Graph) -> Graph:
    """Each hash join with a plan of its own for its table, which is read before the first record."""

    def cut(step: Step) -> list[Step]:
        if not isinstance(step.op, HashJoinOp):
            return [step]
        records, rows = step.inputs
        rows = dataclasses.replace(rows, slot=0)
        end = Step(f"{step.name}:table", TableOp(), (rows,), bounded=True, site=step.site)
        before = [s for s in graph.steps[: graph.steps.index(step)] if not isinstance(s.op, ENDS)]
        table = planned(Graph(graph.name, (*before, end)))
        op = dataclasses.replace(step.op, table=dataclasses.replace(table, unread=()))
        return [dataclasses.replace(step, op=op, inputs=(records,))]

    return graph.changed(cut)


def stages(graph: Graph) -> tuple[PlannedStage, ...]:
    """The stages of a planned graph, each behind those that it reads."""
    steps: dict[str, list[Step]] = {}
    for step in graph.steps:
        steps.setdefault(step.stage, []).append(step)
    return tuple(PlannedStage(name, tuple(of_it)) for name, of_it in steps.items())


def _never_closes(step: Step) -> bool:
    """Whether it is a window of all time over a stream that does not end."""
    op = step.op
    return isinstance(op, WindowOp) and isinstance(op.windows, EverythingWindow) and not step.bounded


def phase(step: Step) -> Literal["", "¹", "²"]:
    """The mark of a step that runs in two stages."""
    if isinstance(step.op, PartialOp):
        return "¹"
    is_final = isinstance(step.op, FinalOp) or (isinstance(step.op, WindowOp) and step.op.final)
    return "²" if is_final else ""
