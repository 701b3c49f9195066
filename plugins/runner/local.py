"""The runner `local` with one worker: a pipeline in the calling process, without frames or checkpoints."""

from __future__ import annotations

import contextlib

from heronpy.kernel.config import Config
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Runner, RunTotals, UnsupportedOnRunner
from heronpy.pipeline.graph import Graph, ReadOp
from heronpy.planner.component_ends import is_component
from heronpy.stages.calls import Calls
from heronpy.stages.in_process import InProcessRun

NAME = "local"


class LocalRunner(Runner):
    """One worker in the calling process. Results are visible each second and at the end.

    A run that is interrupted leaves what was visible by then, and nothing else.
    """

    note = "in one process, without checkpoints"

    def initialize(self, config: Config) -> None:
        """It has no settings."""

    def check(self, plan: Graph) -> None:
        for step in plan.every_step():
            if is_component(step.op):
                feature = "spouts" if isinstance(step.op, ReadOp) else "bolts"
                hint = "--runner engine, or heronpy submit FILE"
                raise UnsupportedOnRunner(NAME, feature, step.name, step.site, hint=hint)

    def run(self, plan: Graph, source: Source) -> RunTotals:  # noqa: ARG002 - all code is here
        with Calls() as calls, contextlib.ExitStack() as held:
            run = InProcessRun(plan, held, calls)
            run.run()
            return run.totals()
