"""Shows the plans of a file's pipelines, in the process that has loaded it."""

from __future__ import annotations

import os

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.loading.exchange import Drawing, ExplainRequest, Outcome
from heronpy.loading.script import failed, run_script
from heronpy.pipeline.graph import Graph, ReadOp
from heronpy.planner.component_ends import is_component
from heronpy.planner.drawings import dot, mermaid, plan_json
from heronpy.planner.explain import explained
from heronpy.planner.planning import planned


def explain(wanted: ExplainRequest) -> Outcome:
    """Run the file and show what its pipelines become. Sources are asked for their splits and not opened."""
    loaded = run_script(wanted.source)
    if isinstance(loaded, Outcome):
        return loaded
    if not loaded.pipelines:
        file = os.path.basename(wanted.source.file)
        hint = f"heronpy submit {file} --dry-run, which shows the plan of a topology"
        return Outcome(error=f"{file} has no pipeline to explain", hint=hint)
    try:
        plans = [planned(pipeline.graph()) for pipeline in loaded.pipelines]
        return Outcome(shown=_shown(plans, wanted.form, os.cpu_count() or 1))
    except UserError as error:
        return Outcome(error=str(error))
    except Exception as error:
        return failed(error, wanted.source)


def _shown(plans: list[Graph], form: Drawing, cores: int) -> str:
    splits = {name: count for plan in plans for name, count in _splits(plan).items()}
    if form == "json":
        found = [plan_json(plan, cores=cores, splits=splits) for plan in plans]
        document = found[0] if len(found) == 1 else found
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    if form == "table":
        shown = [explained(plan, cores=cores, splits=splits) for plan in plans]
        if len(plans) > 1:
            shown = [f"{plan.name}\n{text}" for plan, text in zip(plans, shown, strict=True)]
        return "\n\n".join(shown)
    draw = mermaid if form == "mermaid" else dot
    return "\n".join(draw(plan) for plan in plans).rstrip("\n")


def _splits(plan: Graph) -> dict[str, int]:
    """How many splits each source has; one that is not there yet counts as one, since nothing is run."""
    found: dict[str, int] = {}
    for step in plan.every_step():
        if isinstance(step.op, ReadOp) and not is_component(step.op):
            try:
                found[step.name] = len(step.op.source.splits())
            except Exception:
                found[step.name] = 1
    return found
