"""heronpy kill NAME…: end topologies and clear all they left."""

from __future__ import annotations

import shutil

import click

from heronpy.cli.options import complete_names, takes_settings
from heronpy.cli.topologies import names, open_state, require
from heronpy.container.folders import work_folder
from heronpy.container.teardown import kill_topology
from heronpy.kernel.config import Config
from heronpy.kernel.names import checked_name


@click.command("kill")
@click.argument("wanted", metavar="NAME...", nargs=-1, shell_complete=complete_names)
@click.option("--all", "everything", is_flag=True, help="End every topology.")
@click.option("--keep-logs", is_flag=True, help="Leave the logs where they are.")
@takes_settings
def command(config: Config, wanted: tuple[str, ...], everything: bool, keep_logs: bool) -> None:
    """End topologies NAME…: their processes, sockets, files and state.

    Also clears what a half-failed submit or a crash has left. It may be repeated.
    """
    if everything == bool(wanted):
        msg = "kill wants the names of topologies, or --all"
        raise click.UsageError(msg, click.get_current_context())
    with open_state(config) as state:
        chosen = names(state) if everything else list(dict.fromkeys(wanted))
        for name in chosen:
            # what a crash left may be files without a node
            if not work_folder(config, checked_name("topology", name)).exists():
                require(state, name)
        for name in chosen:
            kill_topology(config, state, name, config.number("kill.timeout"), keep_logs=keep_logs)
            if not keep_logs:
                # a topology that failed to start is gone already, but for its logs
                shutil.rmtree(work_folder(config, name), ignore_errors=True)
            click.echo(f"{name} is gone")
