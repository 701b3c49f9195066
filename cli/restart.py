"""heronpy restart NAME [CONTAINER]: restart the containers of a topology, or one of them."""

from __future__ import annotations

import click

from heronpy.cli.options import shortcut, takes_name, takes_settings
from heronpy.cli.topologies import open_state, require, require_alive
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.requests import request_restart
from heronpy.kernel.tree import Tree

MASTER_CONTAINER = 0


@click.command("restart")
@takes_name
@click.argument("container", type=click.IntRange(min=0), required=False)
@shortcut("--timeout", "DURATION", "How long to wait for the scheduler.")
@takes_settings
def command(config: Config, name: str, container: int | None) -> None:
    """Restart all containers of topology NAME, or only number CONTAINER (0 is the topology master's)."""
    with open_state(config) as state:
        packing = PackingPlan.from_json(state.get(Tree(require(state, name)).packing_plan).value)
        known = [MASTER_CONTAINER, *(one.id for one in packing.containers)]
        if container is not None and container not in known:
            msg = f"topology {name!r} has no container {container} (known: {', '.join(map(str, known))})"
            raise UserError(msg)
        require_alive(config, state, name)
        request_restart(state, name, container, timeout=config.number("submit.timeout"))
    click.echo(f"{name}: restarted {'all containers' if container is None else f'container {container}'}")
