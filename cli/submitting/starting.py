"""Submit and wait, as seen at a terminal: progress, and the failing log's last lines."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click

from heronpy.cli.reading.asked_logs import fetch_logs
from heronpy.cli.reading.log_tail import LogFolder, tail
from heronpy.cli.reading.topologies import log_folder
from heronpy.cli.submitting.submission import Prepared, StartFailed, submit, wait_until_running
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.container.teardown import kill_topology
from heronpy.kernel.config import Config
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans.validate import validate
from heronpy.kernel.plugin import StateManager

#: lines of a failing instance's log that are shown
TAIL = 20


def warn(prepared: Sequence[Prepared]) -> None:
    """Print warnings about what may surprise the user."""
    if not prepared:
        click.echo("the file ended by itself before it defined a topology: nothing is started", err=True)
    for one in prepared:
        for warning in validate(one.logical):
            click.echo(f"warning: {warning}", err=True)


def tell_basis(config: Config, state: StateManager) -> None:
    """Name what decides how the topology runs: settings files, and a state tree that others may write."""
    for file in config.files:
        click.echo(f"settings: {file}", err=True)
    for warning in state.warnings():
        click.echo(f"warning: {warning}", err=True)


def start(config: Config, state: StateManager, prepared: Prepared, *, wait: bool) -> TopologyLaunch:
    """Submit; with `wait`, return when it runs. One that fails is ended again, but its logs are kept."""
    name = prepared.logical.name
    launch = submit(config, state, prepared)
    if not wait:
        return launch
    progress = ProgressLine()
    try:
        wait_until_running(
            state,
            name,
            timeout=config.number("submit.timeout"),
            last_words=lambda who: "".join(_last_lines(config, state, name, who, 1)),
            progress=progress.say,
        )
    except StartFailed as failure:
        progress.clear()
        if failure.step_failure is None:
            _show_failure(config, state, name, failure.who)
        kill_topology(
            config,
            state,
            name,
            config.number("kill.timeout"),
            keep_logs=failure.step_failure is None,
            keep_objects=prepared.inherits,
        )
        raise failure.step_failure or failure from None
    except KeyboardInterrupt:
        progress.say(f"stopping {name}")
        take_down(config, state, name, keep_objects=prepared.inherits)
        progress.clear()
        click.echo(f"{name} is stopped, nothing is left", err=True)
        raise
    finally:
        progress.clear()
    return launch


def take_down(
    config: Config, state: StateManager, name: str, *, keep_objects: bool = False, keep_logs: bool = False
) -> None:
    """End a topology; Ctrl-C during that ends it at once."""
    kill = functools.partial(
        kill_topology, config, state, name, keep_objects=keep_objects, keep_logs=keep_logs
    )
    try:
        kill(timeout=config.number("kill.timeout"))
    except KeyboardInterrupt:
        kill(timeout=0.0)


def _show_failure(config: Config, state: StateManager, name: str, who: str) -> None:
    folder = log_folder(config, name)
    lines = _last_lines(config, state, name, who, TAIL)
    if lines:
        click.echo(f"last lines of {folder / who}.log:", err=True)
        for line in lines:
            click.echo(f"  {line}", err=True)
    click.echo(f"all logs are kept in {folder}", err=True)


def _last_lines(config: Config, state: StateManager, name: str, who: str, lines: int) -> list[str]:
    fetch_logs(config, state, name)
    logs = LogFolder(log_folder(config, name))
    return tail(logs, who, logs.extents().get(who, range(0)), lines)
