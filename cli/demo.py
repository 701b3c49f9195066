"""heronpy demo: the bundled word count, in the foreground."""

from __future__ import annotations

import importlib.util

import click

from heronpy.cli.foreground import run_in_foreground
from heronpy.cli.options import shortcut, takes_duration, takes_settings
from heronpy.kernel.config import Config

NAME = "demo"


@click.command("demo")
@takes_duration
@shortcut("--timeout", "DURATION", "How long to wait until it runs, e.g. 30s.")
@takes_settings
def command(config: Config, seconds: float | None) -> None:
    """Run a word count, 2 spouts and 2 bolts in 2 containers, with a live table; Ctrl-C stops it."""
    found = importlib.util.find_spec("heronpy.demo_topology")
    assert found is not None
    assert found.origin is not None
    click.echo(f"this is {found.origin}", err=True)
    click.echo(
        "while it runs, in another terminal: heronpy status demo | heronpy logs demo count -f", err=True
    )
    run_in_foreground(config, found.origin, (), name=NAME, seconds=seconds)
