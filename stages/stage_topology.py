"""A planned pipeline as a topology: a component for each stage, a stream for each edge."""

from __future__ import annotations

from typing import Any

from heronpy.bolt import Bolt
from heronpy.connectors.collected import CollectedSink
from heronpy.connectors.printed import PrintedSink
from heronpy.constants import TOPOLOGY_KEY_GROUPS, TOPOLOGY_RELIABILITY_MODE
from heronpy.kernel.plugin.runner import UnsupportedOnRunner
from heronpy.loading.running import check_ends
from heronpy.operators.stage_edges import edge_of
from heronpy.operators.timed_processing import keeps_cells
from heronpy.pipeline.graph import EventTimeOp, Graph, ReadOp, WriteOp
from heronpy.planner.planning import PlannedStage
from heronpy.spec import GlobalStreamId, HeronComponentSpec
from heronpy.stages.found_pipeline import ENGINE, PlannedPipeline, signature
from heronpy.stages.pipeline_keys import BOUNDED, PIPELINE, PRINTS, STAGE, STEPS, TRAVELS
from heronpy.stages.stage_streams import GROUPINGS, streams_of
from heronpy.stages.tasks.stage_bolt import KeyedStageBolt, StageBolt
from heronpy.stages.tasks.stage_sink import StageSink
from heronpy.stages.tasks.stage_spout import StageSpout
from heronpy.stages.tasks.time_giving_bolt import TimeGivingKeyedStageBolt, TimeGivingStageBolt
from heronpy.stages.tasks.timed_bolt import TimedKeyedStageBolt, TimedStageBolt
from heronpy.stages.tasks.timed_spout import TimedStageSpout
from heronpy.stream import AnyGrouping, Stream
from heronpy.topology import Topology, TopologyBuilder


def topology_of(found: PlannedPipeline, cores: int) -> type[Topology]:
    """The topology of a pipeline; its sources and sinks are asked whether they are there."""
    check(found)
    builder = TopologyBuilder(found.pipeline.name)
    for stage in found.stages.values():
        builder.add_spec(_component(found, stage, cores))
    builder.set_config(
        {
            TOPOLOGY_RELIABILITY_MODE: found.pipeline.guarantee,
            TOPOLOGY_KEY_GROUPS: found.pipeline.key_groups,
            **({TRAVELS: found.pipeline} if found.pipeline.by_value else {}),
            **found.pipeline.config,
        }
    )
    return builder.build()


def check(found: PlannedPipeline) -> None:
    """Refuse what the engine cannot carry, and sources and sinks that are not there."""
    for step in found.plan.steps:
        if isinstance(step.op, WriteOp) and isinstance(step.op.sink, CollectedSink):
            hint = "--runner local, or write to files or SQLite"
            raise UnsupportedOnRunner(ENGINE, "sinks.collected", step.name, step.site, hint=hint)
    check_ends(found.plan)


def _component(found: PlannedPipeline, stage: PlannedStage, cores: int) -> HeronComponentSpec:
    plan, first = found.plan, stage.steps[0]
    par = stage.tasks(cores, {step: len(splits) for step, splits in found.splits.items()})
    config: dict[str, Any] = {PIPELINE: found.pipeline.name, STAGE: stage.name, STEPS: signature(stage)}
    match first.op:
        case ReadOp(source=source) | WriteOp(sink=source) if getattr(source, "component", None) is not None:
            return _of_the_user(plan, stage, par)
    outputs = [
        Stream(list(stream.fields), name=stream.name) for stream in streams_of(plan, stage.name).values()
    ]
    if stage.kind == "spout":
        config[BOUNDED] = first.bounded
        spout = TimedStageSpout if any(step.timed for step in stage.steps) else StageSpout
        return spout.spec(stage.name, par, config, outputs)
    if isinstance(first.op, WriteOp) and isinstance(first.op.sink, PrintedSink):
        config[PRINTS] = True
    return _bolt_of(stage).spec(stage.name, _inputs(plan, stage), par, config, outputs)


def _bolt_of(stage: PlannedStage) -> type[Bolt]:
    if isinstance(stage.steps[0].op, WriteOp):
        return StageSink
    by_key = any(read.exchange == "fields(key)" for _, read in stage.inputs)
    if any(isinstance(step.op, EventTimeOp) for step in stage.steps):
        return TimeGivingKeyedStageBolt if by_key else TimeGivingStageBolt
    if any(step.timed or keeps_cells(step) for step in stage.steps):
        return TimedKeyedStageBolt if by_key else TimedStageBolt
    return KeyedStageBolt if by_key else StageBolt


def _of_the_user(plan: Graph, stage: PlannedStage, par: int) -> HeronComponentSpec:
    """A spout or bolt of the user's own at an end of the pipeline."""
    op = stage.steps[0].op
    end: Any = op.source if isinstance(op, ReadOp) else getattr(op, "sink", None)
    spec: HeronComponentSpec
    if isinstance(op, ReadOp):
        spec = end.component.spec(name=stage.name, par=par, config=dict(end.config))
    else:
        inputs = _inputs(plan, stage)
        spec = end.component.spec(name=stage.name, inputs=inputs, par=par, config=dict(end.config))
    return spec


def _inputs(plan: Graph, stage: PlannedStage) -> dict[GlobalStreamId, AnyGrouping]:
    inputs: dict[GlobalStreamId, AnyGrouping] = {}
    for _, read in stage.inputs:
        source = plan[read.step].stage
        stream = streams_of(plan, source)[edge_of(read)]
        inputs[GlobalStreamId(source, stream.name)] = GROUPINGS[read.exchange]
    return inputs
