"""heronpy deactivate NAME: pauses the spouts."""

from __future__ import annotations

import click

from heronpy.cli.changing.spouts import wait_for_spouts
from heronpy.cli.options import shortcut, takes_name, takes_settings
from heronpy.cli.reading.topologies import open_state
from heronpy.kernel.config import Config
from heronpy.kernel.tree.paths import PAUSED


@click.command("deactivate")
@takes_name
@shortcut("--timeout", "DURATION", "How long to wait for the spouts.")
@takes_settings
def command(config: Config, name: str) -> None:
    """Pause the spouts of topology NAME; what is on its way is still processed."""
    with open_state(config) as state:
        wait_for_spouts(config, state, name, PAUSED)
    click.echo(f"{name}: spouts are paused")
