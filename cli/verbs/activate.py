"""heronpy activate NAME: lets the spouts emit again."""

from __future__ import annotations

import click

from heronpy.cli.changing.spouts import wait_for_spouts
from heronpy.cli.options import shortcut, takes_name, takes_settings
from heronpy.cli.reading.topologies import open_state
from heronpy.kernel.config import Config
from heronpy.kernel.tree.paths import RUNNING


@click.command("activate")
@takes_name
@shortcut("--timeout", "DURATION", "How long to wait for the spouts.")
@takes_settings
def command(config: Config, name: str) -> None:
    """Let the spouts of topology NAME emit again."""
    with open_state(config) as state:
        wait_for_spouts(config, state, name, RUNNING)
    click.echo(f"{name}: spouts emit again")
