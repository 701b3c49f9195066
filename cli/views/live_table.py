"""The live table of one or more topologies, and what their components print."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from heronpy.cli.views import status_view
from heronpy.cli.views.component_output import OutputLine
from heronpy.cli.views.event_time_view import event_time_table
from heronpy.cli.views.keyboard import keyboard
from heronpy.cli.views.output import is_terminal, table
from heronpy.cli.views.status_progress import progress
from heronpy.kernel.status import TopologyStatus

if TYPE_CHECKING:
    from rich.console import JustifyMethod, RenderableType
    from rich.live import Live

#: what is known now; empty when there is nothing to watch any more
Fetch = Callable[[], Sequence[TopologyStatus]]
#: lines that came since the last call
Lines = Callable[[], Iterable[OutputLine]]

REFRESH = 1.0
#: seconds between two reports when the output is not a terminal
REPORT_EVERY = 5.0
#: seconds between two looks at what components print, and at whether the topologies have finished
LOOK_EVERY = 0.2
#: lines that a terminal gets at one look: more than a person can read
MOST_LINES = 100

STATE_STYLES = {
    "RUNNING": "green",
    "FINISHED": "green",
    "running": "green",
    "PAUSED": "yellow",
    "paused": "yellow",
    "STARTING": "cyan",
    "starting": "cyan",
}


def watch(
    fetch: Fetch,
    *,
    footer: str,
    lines: Lines | None = None,
    seconds: float | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Show until q is pressed, the time is over, nothing is left or `is_over`. Ctrl-C is the caller's.

    Where there are lines of components to show, they are the result: a pipe gets them alone, and notes and
    the table go to standard error.
    """
    until = float("inf") if seconds is None else time.monotonic() + seconds
    if is_terminal(sys.stdout):
        _watch_terminal(fetch, lines, footer, until, is_over)
    else:
        _watch_pipe(fetch, lines, until, is_over)


def snapshot(statuses: Sequence[TopologyStatus], now: float, width: int | None = None) -> str:
    """The same as text; of the table as much as fits into the width."""
    return "\n\n".join(
        "\n".join(
            [
                status_view.headline(status, now),
                *progress(status, now),
                *status_view.notes(status, now),
                component_table(status, width),
                *([times] if (times := event_time_table(status)) else []),
            ]
        )
        for status in statuses
    )


def _watch_terminal(
    fetch: Fetch, lines: Lines | None, footer: str, until: float, is_over: Callable[[], bool]
) -> None:
    from rich.console import Console
    from rich.live import Live

    due = 0.0
    with keyboard() as pressed, Live(console=Console(), auto_refresh=False) as live:
        while (now := time.monotonic()) < until and not is_over():
            if now >= due:
                due = now + REFRESH
                statuses = fetch()
                if not statuses:
                    return
                live.update(rendered(statuses, time.time(), footer, live.console.width), refresh=True)
            if lines is not None:
                _print_above(live, lines())
            if pressed(min(LOOK_EVERY, max(0.0, until - now))) in ("q", "Q"):
                return


def _print_above(live: Live, lines: Iterable[OutputLine]) -> None:
    """All records of pipelines, and of other lines as many as a person can read."""
    from rich.text import Text

    left_out = 0
    for shown, line in enumerate(lines, 1):
        if shown <= MOST_LINES or line.kind == "record":
            live.console.print(Text(line.text))
        else:
            left_out += 1
    if left_out:
        live.console.print(Text(f"… and {left_out:,} lines more; heronpy logs shows them", style="dim"))


def _watch_pipe(fetch: Fetch, lines: Lines | None, until: float, is_over: Callable[[], bool]) -> None:
    due = 0.0
    while (now := time.monotonic()) < until and not is_over():
        if now >= due:
            due = now + REPORT_EVERY
            statuses = fetch()
            if not statuses:
                return
            click.echo(snapshot(statuses, time.time()) + "\n", err=lines is not None)
        for line in lines() if lines is not None else ():
            click.echo(line.text, err=line.kind == "note")
        time.sleep(min(LOOK_EVERY, max(0.0, until - now)))


def rendered(
    statuses: Sequence[TopologyStatus], now: float, footer: str, width: int | None = None
) -> RenderableType:
    """The statuses as rich tables, with their notes and a last line."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    for status in statuses:
        parts.append(Text(status_view.headline(status, now), style=STATE_STYLES.get(status.state, "red")))
        parts += [Text(line) for line in progress(status, now)]
        parts.append(_components(status, width))
        if times := event_time_table(status):
            parts.append(Text(f"\n{times}\n"))
        parts += [Text(f"! {note}", style="yellow") for note in status_view.notes(status, now)]
    return Group(*parts, Text(footer, style="dim"))


def component_table(status: TopologyStatus, width: int | None) -> str:
    """The table of components as text, with the columns that fit."""
    rows = status_view.component_rows(status)
    return table(*status_view.fitting(status_view.COMPONENT_HEADERS, rows, width))


def terminal_width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere, and there is room for all."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def _components(status: TopologyStatus, width: int | None) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
    headers, rows = status_view.fitting(
        status_view.COMPONENT_HEADERS, status_view.component_rows(status), width
    )
    for header in headers:
        justify: JustifyMethod = "left" if header in ("component", "kind", "state") else "right"
        columns.add_column(header, justify=justify, no_wrap=True)
    for row in rows:
        state = row[-1]
        columns.add_row(*(Text(cell) for cell in row[:-1]), Text(state, style=STATE_STYLES.get(state, "red")))
    return columns
