"""heronpy list: all topologies, in a line each."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import click

from heronpy.cli.options import takes_output, takes_settings
from heronpy.cli.reading.topologies import ANSWER_TIMEOUT, names, open_state
from heronpy.cli.views.output import echo_json, elapsed, table
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import topology_status
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.structs import prepare_structs

HEADERS = ("name", "state", "instances", "containers", "packing", "scheduler", "submitted", "by")


@click.command("list")
@takes_output
@takes_settings
def command(config: Config, output: str) -> None:
    """List the topologies: name, state, size, and who submitted them when."""
    with open_state(config) as state:
        found = _statuses(state)
    if output == "json":
        echo_json([_plain(status) for status in found])
    elif found:
        click.echo(table(HEADERS, [_row(status, time.time()) for status in found]))
    else:
        click.echo("no topologies (try: heronpy demo)", err=True)


def _statuses(state: StateManager) -> list[TopologyStatus]:
    """Asked concurrently: masters that do not answer cost one timeout in all."""
    found = names(state)
    prepare_structs()
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(found)))) as pool:
        return list(pool.map(lambda name: topology_status(state, name, timeout=ANSWER_TIMEOUT), found))


def _plain(status: TopologyStatus) -> dict[str, object]:
    return {
        "name": status.name,
        "state": status.state,
        "reason": status.reason,
        "instances": len(status.instances),
        "containers": len({instance.container for instance in status.instances}),
        "packing": status.packing,
        "scheduler": status.scheduler,
        "submitted_at": status.submitted_at,
        "submitted_by": status.submitted_by,
    }


def _row(status: TopologyStatus, now: float) -> tuple[str, ...]:
    plain = _plain(status)
    ago = f"{elapsed(now - status.submitted_at)} ago" if status.submitted_at else "-"
    columns = ("name", "state", "instances", "containers", "packing", "scheduler")
    return (*(str(plain[column]) for column in columns), ago, status.submitted_by)
