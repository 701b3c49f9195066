"""Runs a topology file as a script and makes plans of what it submits or defines."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import LogicalPlan, Source
from heronpy.loading.exchange import LoadRequest, Outcome, result_file, wanted_file
from heronpy.loading.findable import check_findable, class_of
from heronpy.loading.remedies import remedy
from heronpy.loading.user_error import describe_user_error
from heronpy.loading.user_module import MAIN, put_paths_first
from heronpy.logical_plan import to_logical_plan
from heronpy.state import state_is_by_task
from heronpy.submissions import submissions
from heronpy.topology import Topology, TopologyType

HOW_TO = (
    "define a subclass of heronpy.Topology with specs in its body,"
    " or call TopologyBuilder(…).build_and_submit()"
)


def main(folder: str) -> None:
    """Load the file that FOLDER names and leave the outcome there."""
    outcome = load(msgspec.json.decode(wanted_file(folder).read_bytes(), type=LoadRequest))
    result_file(folder).write_bytes(msgspec.json.encode(outcome))


def load(wanted: LoadRequest) -> Outcome:
    """Run the file as `__main__`; this process is good for nothing else afterwards."""
    source = wanted.source
    name = os.path.basename(source.file)
    submitted = submissions.collect()
    module = ModuleType(MAIN)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        code = compiled(source.file)
        _become(module, source)
        exec(code, module.__dict__)
        topologies = submitted or _defined_in(module)
        if not topologies:
            return Outcome(error=f"{name} has no topology", hint=HOW_TO)
    except SystemExit as stop:
        if stop.code == 2:
            return Outcome(usage=True)
        if stop.code not in (None, 0):
            return _failed(stop, source)
        topologies = submitted
    except BaseException as error:
        return _failed(error, source, remedy(error, source.file))
    return _planned(topologies, wanted, module)


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


def _planned(topologies: list[type[Topology]], wanted: LoadRequest, module: ModuleType) -> Outcome:
    plans = []
    try:
        for topology in topologies:
            plan = to_logical_plan(topology, wanted.source, wanted.overrides)
            check_findable(plan, module)
            plans.append(_with_what_is_kept(plan, module))
    except UserError as error:
        return Outcome(error=str(error))
    except Exception as error:
        return _failed(error, wanted.source)
    return Outcome(plans=plans)


def _with_what_is_kept(plan: LogicalPlan, module: ModuleType) -> LogicalPlan:
    components = []
    for component in plan.components:
        cls = class_of(component, plan, module)
        kept = msgspec.structs.replace(
            component,
            state_by_task=state_is_by_task(cls),
            keeps_objects=bool(getattr(cls, "keeps_objects", False)),
        )
        components.append(kept)
    return msgspec.structs.replace(plan, components=tuple(components))


def _failed(error: BaseException, source: Source, hint: str = "") -> Outcome:
    failure = describe_user_error(error, source)
    place = f" ({os.path.basename(failure.file)}, line {failure.line})" if failure.file else ""
    message = f"cannot load {os.path.basename(source.file)}: {failure.message}{place}"
    # the line alone says enough of what we raised ourselves, and of sys.exit()
    traceback = "" if isinstance(error, UserError | SystemExit) else failure.traceback
    return Outcome(error=message, hint=hint, traceback=traceback)
