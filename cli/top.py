"""heronpy top NAME: the live table."""

from __future__ import annotations

import time

import click

from heronpy.cli.live import snapshot, watch
from heronpy.cli.options import takes_name, takes_output, takes_settings
from heronpy.cli.output import echo_json
from heronpy.cli.topologies import ANSWER_TIMEOUT, names, open_state, require
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import topology_status


@click.command("top")
@takes_name
@click.option("--once", is_flag=True, help="Show the numbers once and leave.")
@takes_output
@takes_settings
def command(config: Config, name: str, once: bool, output: str) -> None:
    """Watch the numbers of topology NAME, refreshed each second; q or Ctrl-C leaves."""
    with open_state(config) as state:
        require(state, name)
        if once or output == "json":
            status = topology_status(state, name, timeout=ANSWER_TIMEOUT)
            if output == "json":
                echo_json(status)
            else:
                click.echo(snapshot([status], time.time()))
            return
        try:
            watch(
                lambda: (
                    [topology_status(state, name, timeout=ANSWER_TIMEOUT)] if name in names(state) else []
                ),
                footer="q leaves; the topology goes on",
            )
        except KeyboardInterrupt:
            return
