"""heronpy deactivate NAME: pauses the spouts."""

from __future__ import annotations

import click

from heronpy.cli.options import takes_name, takes_settings
from heronpy.cli.topologies import ANSWER_TIMEOUT, open_state, require_alive
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import set_live
from heronpy.kernel.tree import PAUSED


@click.command("deactivate")
@takes_name
@takes_settings
def command(config: Config, name: str) -> None:
    """Pause the spouts of topology NAME; what is on its way is still processed."""
    with open_state(config) as state:
        set_live(state, require_alive(config, state, name), PAUSED, timeout=ANSWER_TIMEOUT)
    click.echo(f"{name}: spouts are paused")
