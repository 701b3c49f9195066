"""The live table of one or more topologies, refreshed each second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from heronpy.cli import status_view
from heronpy.cli.keyboard import keyboard
from heronpy.cli.output import table
from heronpy.cli.progress_view import progress
from heronpy.kernel.status import TopologyStatus

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType

#: what is known now; empty when there is nothing to watch any more
Fetch = Callable[[], Sequence[TopologyStatus]]

REFRESH = 1.0
#: seconds between two reports when the output is not a terminal
REPORT_EVERY = 5.0

STATE_STYLES = {
    "RUNNING": "green",
    "running": "green",
    "PAUSED": "yellow",
    "paused": "yellow",
    "STARTING": "cyan",
    "starting": "cyan",
}


def watch(fetch: Fetch, *, footer: str, seconds: float | None = None) -> None:
    """Show until q is pressed, the time is over or nothing is left. Ctrl-C is the caller's."""
    until = float("inf") if seconds is None else time.monotonic() + seconds
    if sys.stdout.isatty():
        _watch_terminal(fetch, footer, until)
    else:
        _watch_pipe(fetch, until)


def snapshot(statuses: Sequence[TopologyStatus], now: float) -> str:
    """The same as text."""
    return "\n\n".join(
        "\n".join(
            [
                status_view.headline(status, now),
                *progress(status, now),
                *status_view.notes(status, now),
                table(status_view.COMPONENT_HEADERS, status_view.component_rows(status)),
            ]
        )
        for status in statuses
    )


def _watch_terminal(fetch: Fetch, footer: str, until: float) -> None:
    from rich.console import Console
    from rich.live import Live

    with keyboard() as pressed, Live(console=Console(), auto_refresh=False) as live:
        while statuses := fetch():
            live.update(rendered(statuses, time.time(), footer), refresh=True)
            if (
                pressed(min(REFRESH, max(0.0, until - time.monotonic()))) in ("q", "Q")
                or time.monotonic() >= until
            ):
                return


def _watch_pipe(fetch: Fetch, until: float) -> None:
    while statuses := fetch():
        click.echo(snapshot(statuses, time.time()) + "\n")
        time.sleep(min(REPORT_EVERY, max(0.0, until - time.monotonic())))
        if time.monotonic() >= until:
            return


def rendered(statuses: Sequence[TopologyStatus], now: float, footer: str) -> RenderableType:
    """The statuses as rich tables, with their notes and a last line."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for status in statuses:
        parts.append(Text(status_view.headline(status, now), style=STATE_STYLES.get(status.state, "red")))
        parts += [Text(line) for line in progress(status, now)]
        parts.append(_components(status))
        parts += [Text(f"! {note}", style="yellow") for note in status_view.notes(status, now)]
    return Group(*parts, Text(footer, style="dim"))


def _components(status: TopologyStatus) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # narrow enough for 80 columns
    columns = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    for header in status_view.COMPONENT_HEADERS:
        justify: JustifyMethod = "left" if header in ("component", "kind", "state") else "right"
        columns.add_column(header, justify=justify, no_wrap=True)
    for row in status_view.component_rows(status):
        state = row[-1]
        columns.add_row(*(Text(cell) for cell in row[:-1]), Text(state, style=STATE_STYLES.get(state, "red")))
    return columns
