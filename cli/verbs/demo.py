"""heronpy demo: the bundled word count, in the foreground."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

import click

from heronpy.cli.options import shortcut, takes_duration, takes_settings
from heronpy.cli.reading.topologies import open_state
from heronpy.cli.submitting.foreground import run_in_foreground
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.tree.paths import Tree

NAME = "demo"

TRY = (
    ("update demo count=4", "scale the counters; no count is lost"),
    ("status demo", "one look at the numbers"),
    ("logs demo count -f", "what the counters print"),
)


@click.command("demo")
@takes_duration
@shortcut("--timeout", "DURATION", "How long to wait until it runs, e.g. 30s.")
@takes_settings
def command(config: Config, seconds: float | None) -> None:
    """Run a word count, 2 spouts and 2 bolts in 2 containers, with a live table; Ctrl-C stops it."""
    found = importlib.util.find_spec("heronpy.demo_topology")
    assert found is not None
    assert found.origin is not None
    heronpy = command_as_typed()
    with open_state(config) as state:
        if state.exists(Tree(NAME).root):
            msg = "the demo runs already"
            raise UserError(msg, hint=f"{heronpy} top {NAME}, or {heronpy} kill {NAME}")
    click.echo(f"this is {found.origin}; each count task prints its most frequent words", err=True)
    click.echo("try in another terminal, while it runs:", err=True)
    for verb, what in TRY:
        click.echo(f"  {heronpy} {verb:24}{what}", err=True)
    run_in_foreground(config, found.origin, (), name=NAME, seconds=seconds)
    click.echo(f"next: docs/tutorial.md, or {heronpy} run with a topology file of your own", err=True)


def command_as_typed() -> str:
    """How this program is started from another terminal in the same folder."""
    typed = sys.argv[0]
    return "heronpy" if shutil.which("heronpy") == typed else os.path.relpath(typed)
