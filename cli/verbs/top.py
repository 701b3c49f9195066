"""heronpy top NAME: the live table."""

from __future__ import annotations

import contextlib
import time

import click

from heronpy.cli.options import takes_name, takes_output, takes_settings
from heronpy.cli.reading.topologies import open_state, require_alive
from heronpy.cli.reading.watched import PolledTopologies
from heronpy.cli.views.live_table import snapshot, terminal_width, watch
from heronpy.cli.views.output import echo_json
from heronpy.kernel.config import Config


@click.command("top")
@takes_name
@click.option("--once", is_flag=True, help="Show the numbers once and exit.")
@takes_output
@takes_settings
def command(config: Config, name: str, once: bool, output: str) -> None:
    """Watch the numbers of topology NAME, refreshed each second; q or Ctrl-C leaves."""
    with (
        open_state(config) as state,
        PolledTopologies(state, [require_alive(config, state, name)]) as watched,
    ):
        if output == "json":
            echo_json(watched.statuses()[0])
        elif once:
            click.echo(snapshot(watched.statuses(), time.time(), terminal_width()))
        else:
            with contextlib.suppress(KeyboardInterrupt):
                watch(watched.statuses, footer="q leaves; the topology goes on")
