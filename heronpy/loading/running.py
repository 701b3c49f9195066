"""Runs pipelines by a runner in this process, which has the user's functions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import TracebackType

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Runner
from heronpy.kernel.plugin.opening import installed
from heronpy.loading.file_process import source_of
from heronpy.loading.user_module import MAIN
from heronpy.pipeline.graph import Graph, ReadOp, WriteOp
from heronpy.planner.planning import planned


def run_from_program(graph: Graph, name: str) -> None:
    """What `p.run(name)` does in a program that was not loaded by a command."""
    file = sys.argv[0] if sys.argv and sys.argv[0] else "FILE.py"
    if installed().runner(name).as_topology:
        msg = f"the runner {name!r} cannot be called from a program"
        raise UserError(msg, hint=f"heronpy run {file} --runner {name}, or heronpy submit {file}")
    try:
        with open_runner(name, load_config()) as runner:
            plan = plan_for(runner, graph)
            check_ends(plan)
            totals = runner.run(plan, _source_of_program())
    except UserError:
        sys.excepthook = _in_a_line
        raise
    for dropped in totals.late:
        print(f"{graph.name}: {dropped}", file=sys.stderr)


@contextlib.contextmanager
def open_runner(name: str, config: Config) -> Iterator[Runner]:
    """A runner, initialized; closed at the end."""
    runner = installed().runner(name)()
    try:
        runner.initialize(config)
        yield runner
    finally:
        runner.close()


def plan_for(runner: Runner, graph: Graph) -> Graph:
    """The plan of a pipeline; what the runner cannot carry is refused."""
    plan = planned(graph)
    runner.check(plan)
    return plan


def check_ends(plan: Graph) -> None:
    """Whether all sources and sinks are there and reachable; a UserError that says which is not."""
    for step in plan.every_step():
        if isinstance(step.op, ReadOp):
            step.op.source.check()
        elif isinstance(step.op, WriteOp):
            step.op.sink.check()


def _in_a_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What a program shows of an error that it does not catch: for a UserError, as the command does."""
    if not isinstance(error, UserError):
        sys.__excepthook__(kind, error, trace)
        return
    frames = "".join(f"  {line}\n" for line in error.traceback.splitlines())
    print(f"{frames}error: {error}", file=sys.stderr)


def _source_of_program() -> Source:
    """Where the code of this process is; nowhere, in a notebook."""
    file = getattr(sys.modules[MAIN], "__file__", None)
    return source_of(file, sys.argv[1:]) if file else Source()
