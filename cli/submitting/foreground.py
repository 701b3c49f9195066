"""Running topologies in the foreground: start them, watch them, end them when the user stops."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import signal
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import NoReturn

import click
import msgspec

from heronpy.cli.reading.asked_logs import are_here, open_logs
from heronpy.cli.reading.topologies import log_folder, open_state, where_logs_are
from heronpy.cli.reading.watched import PolledTopologies
from heronpy.cli.submitting.starting import start, take_down, tell_basis, warn
from heronpy.cli.submitting.submission import Prepared, prepare, step_failure
from heronpy.cli.views.component_output import ComponentOutput
from heronpy.cli.views.live_table import watch
from heronpy.cli.views.status_view import totals
from heronpy.container.folders import work_folder
from heronpy.kernel.config import Config
from heronpy.kernel.config.units import format_duration
from heronpy.kernel.errors import StateError, TimedOut, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import FINISHED, Live, Tree
from heronpy.kernel.tree.registrations import read
from heronpy.stages.pipeline_keys import BOUNDED, PIPELINE, PRINTS

#: seconds between two looks for a step that has failed
LOOK_FOR_FAILURES = 0.5
#: seconds for which a topology that has finished is asked for its totals: a process of it may have died since
LAST_WORD = 10.0


def run_in_foreground(
    config: Config,
    file: str,
    args: Sequence[str],
    *,
    name: str | None = None,
    seconds: float | None = None,
    plans: list[LogicalPlan] | None = None,
) -> None:
    """Until the input has ended, a step of a pipeline has failed, or Ctrl-C (SIGTERM, q, `seconds`).

    A second Ctrl-C ends processes at once. `plans`: the file has been loaded, and defines these.
    """
    registry = installed()
    prepared = prepare(config, registry, file, args, name, plans)
    warn(prepared)
    started: dict[str, ComponentOutput] = {}
    finished: list[TopologyStatus] = []
    with open_state(config, registry) as state, contextlib.ExitStack() as opened:
        tell_basis(config, state)
        pipelines = {one.logical.name for one in prepared if _printing(one.logical) is not None}
        watching = Watching(state, pipelines=pipelines)
        try:
            for one in prepared:
                topology = one.logical.name
                launch = _started(config, state, one)
                logs = opened.enter_context(open_logs(config, topology))
                started[topology] = ComponentOutput(logs, _printing(one.logical))
                click.echo(f"{topology} runs; logs: {where_logs_are(config, launch)}", err=True)
            with _noting_interrupts() as interrupted:
                watched = opened.enter_context(PolledTopologies(state, started))
                watch(
                    watched.statuses,
                    lines=lambda: itertools.chain.from_iterable(one.new_lines() for one in started.values()),
                    footer="Ctrl-C stops the topology",
                    seconds=seconds,
                    is_over=lambda: bool(interrupted) or watching.is_over(watched),
                )
                finished = last_statuses(watched, watching.finished(watched.topologies))
            _say("")
        finally:
            _stop(config, state, started)
        for status in finished:
            _say(totals(status))
    if watching.failure is not None:
        raise watching.failure
    for topology, output in started.items():
        _refuse_gaps(topology, output)
    unfinished = {one.logical.name for one in prepared if _is_bounded(one.logical)}
    if interrupted and unfinished - {status.name for status in finished}:
        raise KeyboardInterrupt


def _started(config: Config, state: StateManager, one: Prepared) -> TopologyLaunch:
    """As `submit` starts it; but a topology that does not run in time is taken down."""
    try:
        return start(config, state, one, wait=True)
    except TimedOut:
        name, waited = one.logical.name, format_duration(config.number("submit.timeout"))
        take_down(config, state, name, keep_logs=True)
        logs = log_folder(config, name)
        msg = f"topology {name!r} did not run within {waited}, and was stopped; logs: {logs}"
        raise TimedOut(msg, hint="--set submit.timeout=5m, if the machine is busy") from None


class Watching:
    """Whether all that was started is over: finished, or stopped by a step that fails."""

    def __init__(self, state: StateManager, *, pipelines: set[str]) -> None:
        self._state, self._pipelines = state, pipelines
        self._due = 0.0
        self.failure: UserError | None = None

    def is_over(self, watched: PolledTopologies) -> bool:
        if self._pipelines and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK_FOR_FAILURES
            self.failure = next(filter(None, map(self._failed, watched.statuses())), None)
        return self.failure is not None or all(map(self._has_finished, watched.topologies))

    def finished(self, topologies: Iterable[str]) -> set[str]:
        return set(filter(self._has_finished, topologies))

    def _failed(self, status: TopologyStatus) -> UserError | None:
        if status.name not in self._pipelines:
            return None
        failures = (step_failure(one.error, one.traceback) for one in status.instances if one.error)
        return next(filter(None, failures), None)

    def _has_finished(self, name: str) -> bool:
        """By the state tree, which is cheaper to ask than the master; the master reports damage of it."""
        with contextlib.suppress(StateError):
            live = read(self._state, Tree(name).live, Live)
            return live is not None and live.state == FINISHED
        return False


def last_statuses(watched: PolledTopologies, finished: Container[str]) -> list[TopologyStatus]:
    """Statuses of the topologies that have finished, once each says FINISHED, or after LAST_WORD."""
    until = time.monotonic() + LAST_WORD
    while True:
        found = [one for one in watched.statuses() if one.name in finished]
        if all(one.state == FINISHED for one in found) or time.monotonic() > until:
            return [msgspec.structs.replace(one, state=FINISHED) for one in found]
        time.sleep(0.1)


@contextlib.contextmanager
def _noting_interrupts() -> Iterator[list[bool]]:
    """A list that is not empty if what is inside was interrupted.

    Python drops a KeyboardInterrupt that is raised while an object is finalized; the list has it.
    """
    interrupted: list[bool] = []

    def note(number: int, frame: FrameType | None) -> NoReturn:
        interrupted.append(True)
        signal.default_int_handler(number, frame)

    raising = [one for one in signal.Signals if signal.getsignal(one) is signal.default_int_handler]
    is_main = threading.current_thread() is threading.main_thread()
    for number in raising if is_main else ():
        signal.signal(number, note)
    try:
        yield interrupted
    except KeyboardInterrupt:
        interrupted.append(True)
    finally:
        for number in raising if is_main else ():
            signal.signal(number, signal.default_int_handler)


def _refuse_gaps(topology: str, output: ComponentOutput) -> None:
    """Records that were printed faster than they were shown are no result."""
    if output.gaps:
        tasks = ", ".join(sorted(output.gaps))
        msg = (
            f"a part of what {tasks} of {topology!r} printed is gone: it outgrew log.max_bytes and log.files"
        )
        raise UserError(msg, hint="write so many records with sinks.files")


def _is_bounded(plan: LogicalPlan) -> bool:
    """Whether it is a pipeline whose input has an end."""
    spouts = [component for component in plan.components if component.kind == "spout"]
    return all(component.config.get(BOUNDED) for component in spouts)


def _printing(plan: LogicalPlan) -> list[str] | None:
    """The components of a pipeline that print records; None if it is no pipeline."""
    if not any(PIPELINE in component.config for component in plan.components):
        return None
    return [component.name for component in plan.components if component.config.get(PRINTS)]


def _stop(config: Config, state: StateManager, started: Mapping[str, ComponentOutput]) -> None:
    for name, output in started.items():
        _say(f"stopping {name} (Ctrl-C again: at once)")
        # Logs outlive the processes by a moment, so that the last lines are shown too.
        keep_logs = are_here(config, name)
        take_down(config, state, name, keep_logs=keep_logs)
        if keep_logs:
            with contextlib.suppress(OSError):
                for line in output.new_lines():
                    click.echo(line.text, err=line.kind == "note")
            shutil.rmtree(work_folder(config, name), ignore_errors=True)
        _say(f"{name} is stopped, nothing is left")


def _say(text: str) -> None:
    """Write to a terminal that may have been closed: that is why the run stops, and must not fail it."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)
