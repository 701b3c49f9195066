"""Running a topology in the foreground: start it, watch it, end it when the user stops."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Mapping, Sequence

import click

from heronpy.cli.reading.asked_logs import are_here, open_logs
from heronpy.cli.reading.topologies import open_state, where_logs_are
from heronpy.cli.reading.watched import PolledTopologies
from heronpy.cli.submitting.starting import start, take_down, tell_basis, warn
from heronpy.cli.submitting.submission import prepare
from heronpy.cli.views.component_output import ComponentOutput
from heronpy.cli.views.live_table import watch
from heronpy.cli.views.status_view import totals
from heronpy.container.folders import work_folder
from heronpy.kernel.config import Config
from heronpy.kernel.errors import StateError
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.paths import FINISHED, Live, Tree
from heronpy.kernel.tree.registrations import read


def run_in_foreground(
    config: Config, file: str, args: Sequence[str], *, name: str | None = None, seconds: float | None = None
) -> None:
    """Until the input has ended or Ctrl-C (SIGTERM, q, `seconds`); a second one ends processes at once."""
    registry = installed()
    prepared = prepare(config, registry, file, args, name)
    warn(prepared)
    started: dict[str, ComponentOutput] = {}
    finished: list[TopologyStatus] = []
    with open_state(config, registry) as state, contextlib.ExitStack() as opened:
        tell_basis(config, state)
        try:
            for one in prepared:
                topology = one.logical.name
                launch = start(config, state, one, wait=True)
                started[topology] = ComponentOutput(opened.enter_context(open_logs(config, topology)))
                click.echo(f"{topology} runs; logs: {where_logs_are(config, launch)}", err=True)
            with contextlib.suppress(KeyboardInterrupt):
                watched = opened.enter_context(PolledTopologies(state, started))
                watch(
                    watched.statuses,
                    lines=lambda: itertools.chain.from_iterable(one.new_lines() for one in started.values()),
                    footer="Ctrl-C stops the topology",
                    seconds=seconds,
                    is_over=lambda: all(_has_finished(state, name) for name in started),
                )
                finished = [one for one in watched.statuses() if one.state == FINISHED]
            _say("")
        finally:
            _stop(config, state, started)
        for status in finished:
            _say(totals(status))


def _has_finished(state: StateManager, name: str) -> bool:
    """By the state tree, which is cheaper to ask than the master; damage of it is the master's to report."""
    with contextlib.suppress(StateError):
        live = read(state, Tree(name).live, Live)
        return live is not None and live.state == FINISHED
    return False


def _stop(config: Config, state: StateManager, started: Mapping[str, ComponentOutput]) -> None:
    for name, output in started.items():
        _say(f"stopping {name} (Ctrl-C again: at once)")
        # Logs outlive the processes by a moment, so that the last lines are shown too.
        keep_logs = are_here(config, name)
        take_down(config, state, name, keep_logs=keep_logs)
        if keep_logs:
            with contextlib.suppress(OSError):
                for line in output.new_lines():
                    click.echo(line)
            shutil.rmtree(work_folder(config, name), ignore_errors=True)
        _say(f"{name} is stopped, nothing is left")


def _say(text: str) -> None:
    """Write to a terminal that may have been closed: that is why the run stops, and must not fail it."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)
