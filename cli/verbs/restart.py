"""heronpy restart NAME [CONTAINER]: restart the containers of a topology, or one of them."""

from __future__ import annotations

import click

from heronpy.cli.changing.planned_restart import restart_as_planned
from heronpy.cli.options import shortcut, takes_name, takes_settings
from heronpy.cli.reading.found_checkpoints import require_common_store
from heronpy.cli.reading.topologies import open_state, require, require_alive, settled_status
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.checkpoints.demand import take_checkpoint
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import PAUSED, RUNNING, Tree
from heronpy.kernel.tree.registrations import needed
from heronpy.kernel.tree.requests import request_restart

MASTER_CONTAINER = 0


def _number(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """The number of a container, as `heronpy status` shows it."""
    if value is None or value.isdecimal():
        return None if value is None else int(value)
    msg = f"{value!r} is not the number of a container: 0 is the topology master's, the others follow"
    raise click.BadParameter(msg)


@click.command("restart")
@takes_name
@click.argument("container", callback=_number, required=False)
@click.option("--now", is_flag=True, help="Restart at once, whatever the containers do; may lose tuples.")
@shortcut("--timeout", "DURATION", "How long to wait for the scheduler.")
@takes_settings
def command(config: Config, name: str, container: int | None, now: bool) -> None:
    """Restart all containers of topology NAME, or only number CONTAINER (0 is the topology master's).

    While all is well, nothing is lost: tasks hand their state over to their successors.
    """
    with open_state(config) as state:
        packing = needed(state, Tree(require(state, name)).packing_plan, PackingPlan)
        workers = [one.id for one in packing.containers]
        known = [MASTER_CONTAINER, *workers]
        if container is not None and container not in known:
            msg = f"topology {name!r} has no container {container} (known: {', '.join(map(str, known))})"
            raise UserError(msg)
        require_alive(config, state, name)
        if not now and container != MASTER_CONTAINER:
            chosen = workers if container is None else [container]
            if _as_planned(config, state, name, chosen):
                if container is not None:
                    return
                # the master last: it coordinates the others, and its own restart loses nothing
                container = MASTER_CONTAINER
        request_restart(state, name, container, timeout=config.number("submit.timeout"))
    click.echo(f"{name}: restarted {'all containers' if container is None else f'container {container}'}")


def _as_planned(config: Config, state: StateManager, name: str, containers: list[int]) -> bool:
    """True when it is done; False when it has to be done at once: a task cannot hand its state over."""
    status = settled_status(state, name)
    if status.state not in (RUNNING, PAUSED):
        click.echo(f"{name} is {status.state}, so it is restarted at once", err=True)
        return False
    if status.reliability != "effectively_once":
        restart_as_planned(config, state, name, containers)
        return True
    require_common_store(state, name)
    progress = ProgressLine()
    try:
        # tuples after it are processed again
        take_checkpoint(state, name, timeout=config.number("checkpoint.timeout"), progress=progress.say)
    finally:
        progress.clear()
    return False
