"""heronpy status NAME: one look at a topology."""

from __future__ import annotations

import time

import click
import msgspec

from heronpy.cli.options import takes_name, takes_output, takes_settings
from heronpy.cli.reading.topologies import ANSWER_TIMEOUT, open_state, require_alive
from heronpy.cli.views import status_view
from heronpy.cli.views.event_time_view import event_time_table
from heronpy.cli.views.live_table import component_table, terminal_width
from heronpy.cli.views.output import echo_json, table
from heronpy.cli.views.status_progress import progress
from heronpy.container.scheduler.scheduler_handle import links
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import topology_status
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.damage import damaged_nodes


@click.command("status")
@takes_name
@click.option("-v", "--verbose", is_flag=True, help="Also show every instance and container.")
@takes_output
@takes_settings
def command(config: Config, name: str, verbose: bool, output: str) -> None:
    """Show the state of topology NAME, its numbers, and what it waits for."""
    with open_state(config) as state:
        status = topology_status(state, require_alive(config, state, name), timeout=ANSWER_TIMEOUT)
        damage = (*damaged_nodes(state, name), *status.damage)
        status = msgspec.structs.replace(status, links=links(state, name), damage=damage)
    if output == "json":
        echo_json(status)
    else:
        click.echo("\n\n".join(_sections(status, verbose)))


def _sections(status: TopologyStatus, verbose: bool) -> list[str]:
    now = time.time()
    lines = [status_view.headline(status, now), *progress(status, now), *status_view.notes(status, now)]
    # a folder of this machine is what `heronpy logs` is for
    lines += [f"{what}: {where}" for what, where in status.links.items() if "://" in where]
    sections = ["\n".join(lines)]
    if status.instances:
        sections.append(component_table(status, terminal_width()))
    if times := event_time_table(status):
        sections.append(times)
    if verbose and status.instances:
        sections.append(table(status_view.INSTANCE_HEADERS, status_view.instance_rows(status)))
        if shared := status_view.shared_processes(status):
            sections.append("\n".join(shared))
    if verbose and status.containers:
        sections.append(table(status_view.CONTAINER_HEADERS, status_view.container_rows(status)))
    sections += [f"{one.label}:\n{one.traceback.rstrip()}" for one in status.instances if one.traceback]
    return sections
