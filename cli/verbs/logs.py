"""heronpy logs NAME [WHO]: what the processes of a topology wrote."""

from __future__ import annotations

import select
import sys
from collections.abc import Collection, Mapping

import click

from heronpy.cli.options import takes_name, takes_settings
from heronpy.cli.reading.asked_logs import open_logs
from heronpy.cli.reading.log_tail import LogFollower, Logs, chosen_logs, require_logs, tail
from heronpy.cli.reading.task_processes import processes_of
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.logs.log_rotation import POISON
from heronpy.kernel.names import checked_name

#: seconds between two looks while following
LOOK_EVERY = 0.2


@click.command("logs")
@takes_name
@click.argument("who", default="")
@click.option("-f", "--follow", is_flag=True, help="Keep showing new lines until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="Lines of each log."
)
@click.option("--poison", is_flag=True, help="Tuples that were kept aside because they kill their task.")
@takes_settings
def command(config: Config, name: str, who: str, follow: bool, lines: int, poison: bool) -> None:
    """Show the last lines of topology NAME's logs, on whichever machines they are.

    WHO is a component (count), an instance (count[1]) or a process (master, scheduler, stream-manager,
    metrics-manager, executor; with the number of a container: executor-1); all of them if left out.
    Where tasks share a process, a component or an instance stands for the processes that it lives in.
    """
    with open_logs(config, checked_name("topology", name)) as logs:
        extents = _kind(logs.extents(), poison=poison)
        if poison and not extents:
            msg = f"topology {name!r} has kept no tuple aside"
            raise UserError(msg)
        if not extents:
            msg = f"topology {name!r} has no log yet, or no container that has one answers"
            raise UserError(
                msg, hint="retry in a moment, or run this on the machine that it was submitted from"
            )
        processes = processes_of(config, name, who)
        chosen = _of(processes, extents) or require_logs(extents, who)
        for each in chosen:
            for line in tail(logs, each, extents[each], lines):
                _show(each, line, alone=len(chosen) == 1 and not follow)
        if follow:
            followers = {each: LogFollower(logs, each, extents[each].stop) for each in chosen}
            _follow(logs, who, poison, processes, followers)


def _of(processes: Collection[str], extents: Mapping[str, range]) -> list[str]:
    return sorted(extents.keys() & set(processes))


def _kind(extents: dict[str, range], *, poison: bool) -> dict[str, range]:
    """The files with tuples that were kept aside, by the names of their tasks; or all others."""
    if not poison:
        return {name: extent for name, extent in extents.items() if not name.endswith(POISON)}
    return {name: extent for name, extent in extents.items() if name.endswith(POISON)}


def _follow(
    logs: Logs, who: str, poison: bool, processes: Collection[str], followers: dict[str, LogFollower]
) -> None:
    while logs.grow():
        extents = _kind(logs.extents(), poison=poison)
        for name in _of(processes, extents) or chosen_logs(extents, who):
            # the log of a process that was started later is read from its beginning
            follower = followers.setdefault(name, LogFollower(logs, name))
            for line in follower.new_lines(extents[name]):
                _show(name, line, alone=name == who)
        if _reader_left(LOOK_EVERY):
            return


def _reader_left(seconds: float) -> bool:
    """Wait, but end with the reader of the output: `logs -f | head` ends with head."""
    poll = select.poll()
    # no event is requested: poll reports a closed pipe in any case
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(seconds * 1000))


def _show(name: str, line: str, *, alone: bool) -> None:
    click.echo(line if alone else f"{name} | {line}")
