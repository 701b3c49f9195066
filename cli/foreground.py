"""Running a topology in the foreground: start it, watch it, take it down when the user has seen enough."""

from __future__ import annotations

from collections.abc import Sequence

import click

from heronpy.cli.live import watch
from heronpy.cli.starting import start, take_down, warn
from heronpy.cli.submission import prepare
from heronpy.cli.topologies import open_state, where_logs_are
from heronpy.cli.watched import Watched
from heronpy.kernel.config import Config
from heronpy.kernel.plugin import Registry, StateManager


def run_in_foreground(
    config: Config, file: str, args: Sequence[str], *, name: str | None = None, seconds: float | None = None
) -> None:
    """Until Ctrl-C (or SIGTERM, q, or `seconds`); a second Ctrl-C ends the processes at once."""
    registry = Registry.load()
    prepared = prepare(config, registry, file, args, name)
    warn(prepared)
    started: list[str] = []
    with open_state(config, registry) as state:
        try:
            for one in prepared:
                launch = start(config, state, one, wait=True)
                started.append(one.logical.name)
                click.echo(f"{one.logical.name} runs; logs: {where_logs_are(config, launch)}", err=True)
            with Watched(state, started) as watched:
                watch(watched.statuses, footer="Ctrl-C stops the topology", seconds=seconds)
        except KeyboardInterrupt:
            click.echo("", err=True)
        finally:
            _stop(config, state, started)


def _stop(config: Config, state: StateManager, started: list[str]) -> None:
    for name in started:
        click.echo(f"stopping {name} (Ctrl-C again: at once)", err=True)
        take_down(config, state, name)
        click.echo(f"{name} is stopped, nothing is left", err=True)
