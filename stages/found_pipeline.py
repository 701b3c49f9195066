"""The plan of a pipeline in a process that has loaded its file: to submit it, or to run one of its stages."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from heronpy.errors import DefinitionError
from heronpy.kernel.errors import did_you_mean
from heronpy.kernel.plans.logical import Reliability
from heronpy.kernel.plugin.runner import UnsupportedOnRunner
from heronpy.pipeline.graph import Graph, ReadOp, Step
from heronpy.pipeline.pipeline import Pipeline
from heronpy.planner.component_ends import is_component
from heronpy.planner.planning import PlannedStage, planned, stages
from heronpy.stages.pipeline_keys import PIPELINE, STAGE, STEPS, TRAVELS
from heronpy.submissions import submissions

#: the runner that carries out the topologies of pipelines
ENGINE = "engine"


class PipelineChanged(DefinitionError):
    """The file does not make what was submitted. No line of it is to blame alone."""

    placed = True


class PlannedPipeline:
    """A pipeline with its plan, made once."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.plan: Graph = planned(pipeline.graph())
        self.stages = {stage.name: stage for stage in stages(self.plan)}

    def check_guarantee(self, reliability: Reliability) -> None:
        """Refuse what the engine does not give to pipelines, whether their file or a setting asks for it."""
        if reliability == "at_least_once":
            first = self.plan.steps[0]
            hint = "guarantee='effectively_once', which repeats nothing"
            raise UnsupportedOnRunner(ENGINE, "guarantee 'at_least_once'", first.name, first.site, hint=hint)

    @functools.cached_property
    def splits(self) -> Mapping[str, tuple[str, ...]]:
        """The splits of each source, by step; asked once, so that all of them are of one moment."""
        return {
            step.name: tuple(step.op.source.splits())
            for step in self.plan.steps
            if isinstance(step.op, ReadOp) and not is_component(step.op)
        }


@functools.cache
def planned_once(pipeline: Pipeline) -> PlannedPipeline:
    return PlannedPipeline(pipeline)


def pipeline_of(config: Mapping[str, Any]) -> PlannedPipeline:
    """The pipeline that a component is of: the config of its task has it, or the file that was loaded."""
    if TRAVELS in config:
        return planned_once(config[TRAVELS])
    name = config[PIPELINE]
    for pipeline in submissions.pipelines:
        if pipeline.name == name:
            return planned_once(pipeline)
    near = did_you_mean(name, [pipeline.name for pipeline in submissions.pipelines])
    msg = f"the file made no pipeline {name!r} when a task loaded it{near}"
    raise PipelineChanged(msg, hint="make pipelines at the top level of the file, the same ones each time")


def submitted_stage(config: Mapping[str, Any]) -> tuple[PlannedPipeline, PlannedStage]:
    """The stage that a component is, if the file still makes the steps that were submitted."""
    found = pipeline_of(config)
    stage = found.stages.get(config[STAGE])
    now = signature(stage) if stage is not None else []
    then = list(config[STEPS])
    if stage is None or now != then:
        changed = next((old for old, new in zip(then, now, strict=False) if old != new), None)
        step = changed or (then[len(now)] if len(now) < len(then) else now[len(then)])
        msg = f"the file makes another pipeline {config[PIPELINE]!r} than was submitted, from {step!r} on"
        raise PipelineChanged(msg, hint="make the same steps each time the file is loaded")
    return found, stage


def signature(stage: PlannedStage) -> list[str]:
    """What a stage does, step by step, in words that change when the pipeline does."""
    return [_described(step) for step in stage.steps]


def _described(step: Step) -> str:
    reads = [
        f"{read.step}{'.' if read.output else ''}{read.output}{f' by {read.key.step}' if read.key else ''}"
        for read in step.inputs
    ]
    return f"{step.name}: {step.op.word}{' of ' if reads else ''}{', '.join(reads)}"
