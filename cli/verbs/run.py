"""heronpy run FILE: a topology in the foreground."""

from __future__ import annotations

import click

from heronpy.cli.options import shortcut, takes_duration, takes_settings
from heronpy.cli.submitting.foreground import run_in_foreground
from heronpy.kernel.config import Config


@click.command("run")
@click.argument("file", type=click.Path())
@click.argument("args", nargs=-1)
@shortcut("--packing", "NAME", "Packing plugin.")
@shortcut("--scheduler", "NAME", "Scheduler plugin.")
@click.option("--name", help="Name of the topology, instead of its own.")
@takes_duration
@shortcut("--timeout", "DURATION", "How long to wait until it runs, e.g. 30s.")
@takes_settings
def command(
    config: Config, file: str, args: tuple[str, ...], name: str | None, seconds: float | None
) -> None:
    """Run the topologies that FILE defines, with a live table; Ctrl-C stops them, a second one at once.

    ARGS go to FILE as its sys.argv; those that begin with a dash come after --.
    """
    run_in_foreground(config, file, args, name=name, seconds=seconds)
