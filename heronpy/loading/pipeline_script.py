"""Runs the pipelines of a file one after the other, in the process that has loaded it."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import itertools
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TextIO

from heronpy.connectors.printed import print_values_to
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.cpu import TreeCpu
from heronpy.kernel.names import checked_name
from heronpy.loading.exchange import Outcome, RunCost, RunRequest
from heronpy.loading.run_totals import totals_line
from heronpy.loading.running import check_ends, open_runner, plan_for
from heronpy.loading.script import LoadedFile, planned_outcome, run_script
from heronpy.loading.user_error import describe_user_error
from heronpy.pipeline.graph import Graph, ReadOp

#: the runner of a file that has pipelines only
DEFAULT = "local"
_PR_SET_PDEATHSIG = 1


def run_file(wanted: RunRequest) -> Outcome:
    """Run the pipelines of a file, or return the plans of its topologies: then all of it is the engine's."""
    with _stopped_by_the_command(wanted.parent), _values_apart() as values:
        loaded = run_script(wanted.load.source)
        if isinstance(loaded, Outcome):
            return loaded
        try:
            if loaded.topologies or not loaded.pipelines:
                _refuse_topologies(loaded, wanted)
                return planned_outcome(loaded, wanted.load)
            return _ran(_graphs(loaded, wanted), wanted)
        except UserError as error:
            return _failed(error, values) or Outcome(error=str(error), traceback=error.traceback)
        except Exception as error:
            failure = describe_user_error(error, wanted.load.source)
            return _failed(error, values) or Outcome(error=failure.summary, traceback=failure.traceback)


def _ran(graphs: Sequence[Graph], wanted: RunRequest) -> Outcome:
    left = list(graphs)
    costs: list[RunCost] = []
    try:
        name = wanted.runner or DEFAULT
        with open_runner(name, Config.from_plain(wanted.settings)) as runner:
            plans = [plan_for(runner, graph) for graph in graphs]
            for plan in plans:
                check_ends(plan)
                _say(f"{plan.name} runs {runner.note or f'with the runner {name}'}")
                cpu, began = TreeCpu() if wanted.measured else None, time.monotonic()
                totals = runner.run(plan, wanted.load.source)
                seconds = time.monotonic() - began
                if cpu is not None:
                    costs.append(RunCost(sum(totals.written.values()), seconds, cpu.spent()))
                _say(totals_line(plan.name, totals, seconds))
                del left[0]
    except KeyboardInterrupt:
        for graph in left[:1]:
            _say(f"{graph.name} is stopped; what it had committed stays")
        return Outcome(ran=True, unfinished=any(map(_ends, left)))
    return Outcome(ran=True, costs=costs)


def _graphs(loaded: LoadedFile, wanted: RunRequest) -> list[Graph]:
    """The pipelines as they are to be run."""
    file = os.path.basename(wanted.load.source.file)
    graphs = [pipeline.graph() for pipeline in loaded.pipelines]
    names = [graph.name for graph in graphs]
    for name in names:
        if names.count(name) > 1:
            msg = f"{file} has two pipelines called {name!r}"
            raise UserError(msg, hint="give each a name of its own")
    for graph, later in itertools.pairwise(graphs):
        if not _ends(graph):
            msg = f"the pipeline {graph.name!r} never ends, so {later.name!r} behind it would not begin"
            raise UserError(msg, hint=f"heronpy run {file} --runner engine, or a file for each")
    if not wanted.name:
        return graphs
    if len(graphs) > 1:
        msg = f"{file} has {len(graphs)} pipelines, which cannot all be named {wanted.name!r}"
        raise UserError(msg, hint="leave out --name")
    return [dataclasses.replace(graphs[0], name=checked_name("the pipeline", wanted.name))]


def _ends(graph: Graph) -> bool:
    return all(step.bounded for step in graph.steps if isinstance(step.op, ReadOp))


def _refuse_topologies(loaded: LoadedFile, wanted: RunRequest) -> None:
    """A runner was asked for, and only the engine has topologies."""
    if not wanted.runner or not loaded.topologies:
        return
    file = os.path.basename(wanted.load.source.file)
    names = ", ".join(topology.topology_name for topology in loaded.topologies)
    if loaded.pipelines:
        msg = f"{file} also has topologies ({names}), which the runner {wanted.runner!r} does not run"
        raise UserError(msg, hint="--runner engine")
    msg = f"{file} has no pipeline, and --runner is for pipelines: the engine runs topologies ({names})"
    raise UserError(msg, hint="leave out --runner")


def _failed(error: Exception, values: TextIO) -> Outcome | None:
    """What to say of an error that is none of the user's: the reader of standard output has left."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, BrokenPipeError):
        cause = cause.__cause__
    if cause is None or not _is_unread(values):
        return None
    return Outcome(ran=True, unread=True)


def _is_unread(values: TextIO) -> bool:
    asked = select.poll()
    asked.register(values.fileno(), 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))


@contextlib.contextmanager
def _values_apart() -> Iterator[TextIO]:
    """Standard output for values alone; what user code and libraries print goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="backslashreplace") as values:
        os.dup2(2, 1)
        print_values_to(values)
        try:
            yield values
        finally:
            try:
                values.flush()
            except OSError:  # what is still in its buffer must not be an error once more at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), values.fileno())


@contextlib.contextmanager
def _stopped_by_the_command(parent: int) -> Iterator[None]:
    """SIGTERM interrupts, once; it also comes when the command is gone. What else a terminal sends is its."""
    signal.signal(signal.SIGTERM, _interrupt)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            # no SIG_IGN: programs that the user's code starts would ignore it too
            signal.signal(number, lambda *_: None)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise KeyboardInterrupt
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say(text: str) -> None:
    """Write to a terminal that may have been closed: that is why the run stops, and must not fail it."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
