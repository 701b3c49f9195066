"""heronpy kill NAME…: end topologies and clear all they left."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence

import click

from heronpy.cli.options import complete_names, takes_settings
from heronpy.cli.reading.asked_logs import fetch_logs
from heronpy.cli.reading.found_checkpoints import counted, open_store, saved_of, total_bytes
from heronpy.cli.reading.topologies import names, open_state, require
from heronpy.container.folders import launch_file, work_folder
from heronpy.container.teardown import kill_topology
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, HeronError, OtherFormat, UserError
from heronpy.kernel.launch import LaunchDamaged, TopologyLaunch
from heronpy.kernel.names import checked_name
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read, reported


@click.command("kill")
@click.argument("wanted", metavar="NAME...", nargs=-1, shell_complete=complete_names)
@click.option("--all", "everything", is_flag=True, help="End every topology.")
@click.option("--keep-logs", is_flag=True, help="Keep the logs on this machine.")
@click.option(
    "--keep-checkpoints", is_flag=True, help="Leave its complete checkpoints, for submit FILE --from NAME."
)
@takes_settings
def command(
    config: Config, wanted: tuple[str, ...], everything: bool, keep_logs: bool, keep_checkpoints: bool
) -> None:
    """End topologies NAME…: their processes, sockets, files, checkpoints and state.

    Also clears what a half-failed submit, a crash or an interrupted kill has left.
    """
    if everything == bool(wanted):
        msg = "kill wants the names of topologies, or --all"
        raise click.UsageError(msg, click.get_current_context())
    with open_state(config) as state:
        chosen = [*names(state), *_left(config, state)] if everything else list(dict.fromkeys(wanted))
        if not chosen:
            click.echo("no topologies", err=True)
        for name in chosen:
            # a crash may leave files without a node
            if not work_folder(config, checked_name("topology", name)).exists():
                require(state, name)
            elif not state.exists(Tree(name).root):
                _refuse_elsewhere(config, name)
        if keep_checkpoints and not everything:
            _refuse_nothing_kept(state, chosen)
        for name in chosen:
            checkpoints = _checkpoints(config, state, name)
            if keep_logs:
                fetch_logs(config, state, name)
            kill_topology(
                config,
                state,
                name,
                config.number("kill.timeout"),
                keep_logs=keep_logs,
                keep_checkpoints=keep_checkpoints,
            )
            if not keep_logs:
                # a topology that failed to start is gone already, but for its logs
                shutil.rmtree(work_folder(config, name), ignore_errors=True)
            click.echo(f"{name} is gone{_fate(name, checkpoints, keep_checkpoints)}")


def _refuse_nothing_kept(state: StateManager, names: Sequence[str]) -> None:
    """Refuse --keep-checkpoints where there is none, before anything is ended: the state would be lost."""
    for name in names:
        try:
            node = read(state, Tree(name).checkpoints, Checkpoints)
        except (DamagedNode, OtherFormat):
            continue  # whether there are any is in the checkpoint store
        if state.exists(Tree(name).root) and (node is None or not node.started):
            msg = f"{name} has no checkpoint to keep"
            raise UserError(
                msg, hint=f"heronpy checkpoints {name} --take, or kill without --keep-checkpoints"
            )


def _left(config: Config, state: StateManager) -> list[str]:
    """Topologies that are gone but for files here: the logs of one that failed to start, or after a crash."""
    known, found = names(state), []
    for folder in sorted((config.home / "topologies").glob("*/")):
        if folder.name not in known:
            with contextlib.suppress(UserError):  # of another state tree
                _refuse_elsewhere(config, checked_name("topology", folder.name))
                found.append(folder.name)
    return found


def _refuse_elsewhere(config: Config, name: str) -> None:
    """Refuse a topology whose files name another state tree: it may be running there."""
    file = launch_file(config, name)
    try:
        own = Config.from_plain(TopologyLaunch.read(file).config)
    except (FileNotFoundError, LaunchDamaged, OtherFormat):
        return  # the tree it was submitted to is not known, which must not prevent the kill
    mine = ("state.manager", f"state.{own['state.manager']}.")
    other = [key for key in own if key.startswith(mine) and own[key] != config[key]]
    if other:
        msg = f"{name!r} was submitted from here with another state tree than the one that is asked now"
        settings = " ".join(f"--set {key}={own.shown(key)}" for key in other)
        raise UserError(msg, hint=f"heronpy kill {name} {settings}")


def _checkpoints(config: Config, state: StateManager, name: str) -> str:
    """How many it has, and how large; empty for none."""
    node = reported(state, Tree(name).checkpoints, Checkpoints)
    if node is None or not node.complete:
        return ""
    try:
        with open_store(config, name) as store:
            own = [one for one in saved_of(state, store, name).found if one.running]
            return counted(len(own), total_bytes(store, own))
    except HeronError:
        # a store that cannot be read is reported when they are removed
        return counted(len(node.complete), max(ref.bytes for ref in node.complete))


def _fate(name: str, checkpoints: str, kept: bool) -> str:
    if not checkpoints:
        return ""
    if kept:
        return f"; {checkpoints} kept (next: heronpy submit FILE --from {name})"
    return f", and its {checkpoints} with it"
