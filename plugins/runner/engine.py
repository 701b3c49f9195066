"""The runner `engine`: a pipeline as a topology, one process for each task, started by the verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Runner

if TYPE_CHECKING:
    from heronpy.pipeline.graph import Graph


class EngineRunner(Runner):
    """Stages become spouts and bolts: heronpy.stages makes the topology when its file is loaded."""

    as_topology = True

    def initialize(self, config: Config) -> None:
        """Settings are read where the topology is started."""

    def run(self, plan: Graph, source: Source) -> NoReturn:  # noqa: ARG002
        msg = f"the pipeline {plan.name!r} becomes a topology, which a program cannot wait for"
        raise UserError(msg, hint="heronpy run FILE --runner engine, or heronpy submit FILE")
