"""heronpy run FILE: pipelines or topologies in the foreground."""

from __future__ import annotations

import click

from heronpy.cli.options import shortcut, takes_duration, takes_settings
from heronpy.cli.submitting.pipelines import run_file
from heronpy.kernel.config import Config


@click.command("run")
@click.argument("file", type=click.Path())
@click.argument("args", nargs=-1)
@shortcut("--packing", "NAME", "Packing plugin.")
@shortcut("--scheduler", "NAME", "Scheduler plugin.")
@click.option("--runner", metavar="NAME", help="Where pipelines run: local (the default), engine, spark, …")
@click.option("--name", help="Name of the pipeline or topology, instead of its own.")
@takes_duration
@shortcut("--timeout", "DURATION", "How long to wait until it runs, e.g. 30s.")
@takes_settings
def command(
    config: Config,
    file: str,
    args: tuple[str, ...],
    runner: str | None,
    name: str | None,
    seconds: float | None,
) -> None:
    """Run the pipelines and topologies that FILE defines; Ctrl-C stops them, a second one at once.

    Pipelines run until their input has ended, in one process unless --runner says otherwise. Only what
    sinks.printed() prints goes to standard output. A file with a topology runs on the engine, with a live
    table. ARGS go to FILE as its sys.argv; those that begin with a dash come after --.
    """
    run_file(config, file, args, runner=runner, name=name, seconds=seconds)
