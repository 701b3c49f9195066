"""Runs a topology file as a script and makes plans of what it submits or defines."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import LogicalPlan, Source
from heronpy.loading.exchange import LoadRequest, Outcome
from heronpy.loading.findable import check_findable, check_made_by_tasks, class_of
from heronpy.loading.remedies import remedy
from heronpy.loading.user_error import describe_user_error
from heronpy.loading.user_module import MAIN, put_paths_first
from heronpy.logical_plan import to_logical_plan
from heronpy.pipeline.graph import WriteOp
from heronpy.pipeline.pipeline import Pipeline
from heronpy.state import state_is_by_task
from heronpy.submissions import submissions
from heronpy.topology import Topology, TopologyType

if TYPE_CHECKING:
    from heronpy.stages.found_pipeline import PlannedPipeline

HOW_TO = (
    "make a heronpy.Pipeline, define a subclass of heronpy.Topology with specs in its body,"
    " or call TopologyBuilder(…).build_and_submit()"
)


def load(wanted: LoadRequest) -> Outcome:
    """Run the file and plan what it defines."""
    loaded = run_script(wanted.source)
    return loaded if isinstance(loaded, Outcome) else planned_outcome(loaded, wanted)


class LoadedFile(NamedTuple):
    """What a file defines."""

    module: ModuleType
    topologies: list[type[Topology]]
    pipelines: list[Pipeline]


def run_script(source: Source) -> LoadedFile | Outcome:
    """Run the file as `__main__`; this process is good for nothing else afterwards. An Outcome: it failed."""
    submitted = submissions.collect()
    module = ModuleType(MAIN)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        code = compiled(source.file)
        _become(module, source)
        exec(code, module.__dict__)
    except SystemExit as stop:
        if stop.code == 2:
            return Outcome(usage=True)
        if stop.code not in (None, 0):
            return failed(stop, source)
        # it may have ended in the middle, as after --help
        return LoadedFile(module, submitted, [p for p in submissions.pipelines if _writes(p)])
    except BaseException as error:
        return failed(error, source, remedy(error, source.file))
    loaded = LoadedFile(module, submitted or _defined_in(module), submissions.pipelines)
    if not loaded.topologies and not loaded.pipelines:
        return Outcome(error=f"{os.path.basename(source.file)} has no pipeline and no topology", hint=HOW_TO)
    return loaded


def _writes(pipeline: Pipeline) -> bool:
    return any(isinstance(step.op, WriteOp) for step in pipeline.graph().steps)


def compiled(file: str) -> CodeType:
    """The file's code; a file that is no Python at all gets a UserError that says so."""
    try:
        return compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        if file.endswith(".py"):
            raise
        msg = "it is not a Python file"
        raise UserError(msg) from None
    except OSError as error:
        raise UserError(error.strerror or str(error)) from None


def _become(module: ModuleType, source: Source) -> None:
    module.__file__ = source.file
    sys.modules[MAIN] = module
    sys.argv = list(source.argv)
    put_paths_first(source)


def _defined_in(module: ModuleType) -> list[type[Topology]]:
    """Topology classes of this file, not those it imports, nor bases without components."""
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, TopologyType) and issubclass(value, Topology)
        if value.__module__ == MAIN and value._heron_specs
    ]
    return list(dict.fromkeys(found))


def planned_outcome(loaded: LoadedFile, wanted: LoadRequest) -> Outcome:
    """The plans of what was loaded."""
    plans = []
    try:
        check_made_by_tasks(submissions.made_at, wanted.source.file)
        of_stages = _stages_of(loaded)
        for topology in [*loaded.topologies, *of_stages]:
            plan = to_logical_plan(topology, wanted.source, wanted.overrides)
            if topology in of_stages:
                of_stages[topology].check_guarantee(plan.reliability)
            check_findable(plan, loaded.module)
            plans.append(_with_what_is_kept(plan, loaded.module))
    except UserError as error:
        return Outcome(error=str(error))
    except Exception as error:
        return failed(error, wanted.source)
    return Outcome(plans=plans)


def _stages_of(loaded: LoadedFile) -> dict[type[Topology], PlannedPipeline]:
    """The pipelines of a file, by the topologies of their stages."""
    if not loaded.pipelines:
        return {}
    from heronpy.stages.found_pipeline import planned_once
    from heronpy.stages.stage_topology import topology_of

    found = map(planned_once, loaded.pipelines)
    return {topology_of(pipeline, os.cpu_count() or 1): pipeline for pipeline in found}


def _with_what_is_kept(plan: LogicalPlan, module: ModuleType) -> LogicalPlan:
    components = []
    for component in plan.components:
        cls = class_of(component, module)
        kept = msgspec.structs.replace(
            component,
            state_by_task=state_is_by_task(cls),
            keeps_objects=bool(getattr(cls, "keeps_objects", False)),
            hears_watermarks=hasattr(cls, "on_watermark"),
            shapes=cls.shapes(component.config) if hasattr(cls, "shapes") else {},
        )
        components.append(kept)
    return msgspec.structs.replace(plan, components=tuple(components))


def failed(error: BaseException, source: Source, hint: str = "") -> Outcome:
    """What became of a file that raised."""
    failure = describe_user_error(error, source)
    place = f" ({os.path.basename(failure.file)}, line {failure.line})" if failure.file else ""
    message = f"cannot load {os.path.basename(source.file)}: {failure.message}{place}"
    # the line alone says enough of what we raised ourselves, and of sys.exit()
    traceback = "" if isinstance(error, UserError | SystemExit) else failure.traceback
    return Outcome(error=message, hint=hint, traceback=traceback)
