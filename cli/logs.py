"""heronpy logs NAME [WHO]: what the processes of a topology wrote."""

from __future__ import annotations

import time
from pathlib import Path

import click

from heronpy.cli.log_files import Follower, chosen_logs, log_names, tail
from heronpy.cli.options import takes_name, takes_settings
from heronpy.cli.topologies import log_folder, open_state, require
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.names import checked_name

#: seconds between two looks while following
LOOK_EVERY = 0.2


@click.command("logs")
@takes_name
@click.argument("who", default="")
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is added, until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="Lines of each log."
)
@takes_settings
def command(config: Config, name: str, who: str, follow: bool, lines: int) -> None:
    """Show the last lines of topology NAME's logs.

    WHO is a component (count), an instance (count[1]) or a process (stream-manager, topology-master,
    scheduler); everybody if left out.
    """
    folder = log_folder(config, checked_name("topology", name))
    if not folder.is_dir():
        # logs that a kill --keep-logs left are shown too, so the tree is asked only if there are none
        with open_state(config) as state:
            require(state, name)
        msg = f"topology {name!r} has written no log yet in {folder}"
        raise UserError(msg, hint="again in a moment")
    paths = chosen_logs(folder, who)
    for path in paths:
        for line in tail(path, lines):
            _show(path, line, alone=len(paths) == 1 and not follow)
    if follow:
        _follow(folder, who, paths)


def _follow(folder: Path, who: str, paths: list[Path]) -> None:
    followers = {path: Follower(path) for path in paths}
    alone = who in log_names(folder)
    while folder.is_dir():
        for path in folder.glob("*.log"):
            # a process that came later has a log that we have not seen the beginning of
            if path not in followers and path in chosen_logs(folder, who):
                followers[path] = Follower(path, from_start=True)
        for follower in followers.values():
            for line in follower.new_lines():
                _show(follower.path, line, alone=alone)
        time.sleep(LOOK_EVERY)


def _show(path: Path, line: str, *, alone: bool) -> None:
    click.echo(line if alone else f"{path.stem} | {line}")
