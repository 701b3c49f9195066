"""heronpy checkpoints NAME: list what a topology has saved, take, verify or delete."""

from __future__ import annotations

import time

import click

from heronpy.cli.changing.restore_checkpoint import go_back
from heronpy.cli.options import complete_names, takes_output, takes_settings, takes_timeout
from heronpy.cli.reading import found_checkpoints
from heronpy.cli.reading.found_checkpoints import (
    FoundCheckpoints,
    open_store,
    require_common_store,
    saved_of,
    split_label,
)
from heronpy.cli.reading.topologies import names, open_state, require, require_alive
from heronpy.cli.views.output import echo_json, elapsed, size, table
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.checkpoints.collection import delete_checkpoints, delete_objects
from heronpy.kernel.checkpoints.demand import being_taken, take_checkpoint
from heronpy.kernel.checkpoints.interval import KEY
from heronpy.kernel.checkpoints.lookup import Found, choose
from heronpy.kernel.checkpoints.manifest import read_manifest
from heronpy.kernel.config import Config
from heronpy.kernel.errors import CheckpointDamaged, UserError
from heronpy.kernel.plugin import CheckpointStore, StateManager

#: seconds on top of checkpoint.timeout, after which the master itself gives up
MARGIN = 5.0


@click.command("checkpoints")
@click.argument("label", metavar="NAME[@ID]", shell_complete=complete_names)
@click.option("--take", is_flag=True, help="Take one now, and wait until it is complete.")
@click.option("--verify", is_flag=True, help="Read every object and compare its checksum.")
@click.option("--delete", is_flag=True, help="Remove those that a killed topology has left.")
@click.option(
    "--restore",
    type=int,
    metavar="ID",
    help="Go back to checkpoint ID, for a topology that has stopped because a newer one is damaged.",
)
@click.option("--accept-repeats", is_flag=True, help="With --restore: commit again what was committed since.")
@takes_timeout("How long to wait for --take, e.g. 30s.")
@takes_output
@takes_settings
def command(
    config: Config,
    label: str,
    take: bool,
    verify: bool,
    delete: bool,
    restore: int | None,
    accept_repeats: bool,
    timeout: float | None,
    output: str,
) -> None:
    """List the checkpoints of topology NAME, newest first; also those that it left when it was killed.

    With ID only that one. The newest stands behind NAME, as in `heronpy submit FILE --from NAME`.
    """
    name, wanted = split_label(label)
    if take + verify + delete + (restore is not None) > 1:
        msg = "--take, --verify, --delete and --restore go one at a time"
        raise click.UsageError(msg, click.get_current_context())
    if accept_repeats and restore is None:
        msg = "--accept-repeats goes with --restore ID"
        raise click.UsageError(msg, click.get_current_context())
    with open_state(config) as state:
        if restore is not None:
            with open_store(config, require_alive(config, state, name)) as store:
                limit = config.number("checkpoint.timeout") if timeout is None else timeout
                go_back(state, store, name, restore, accept_repeats=accept_repeats, timeout=limit)
            return
        if take:
            _take(config, state, name, timeout)
        with open_store(config, name) as store:
            every = saved_of(state, store, name)
            if not every.found:
                require(state, name)
            chosen = _chosen(every, "" if take else wanted, only_newest=take)
            if verify:
                _verify(store, chosen, output)
            elif delete:
                _delete(store, every, chosen)
            else:
                _show(store, FoundCheckpoints(name, every.node, chosen), output, known=name in names(state))


def _chosen(every: FoundCheckpoints, wanted: str, *, only_newest: bool) -> list[Found]:
    if wanted or only_newest:
        return [choose(every.found, every.name, wanted)]
    return every.found


def _take(config: Config, state: StateManager, name: str, timeout: float | None) -> None:
    require_alive(config, state, name)
    require_common_store(state, name)
    limit = config.number("checkpoint.timeout") + MARGIN if timeout is None else timeout
    progress = ProgressLine()
    try:
        take_checkpoint(state, name, timeout=limit, progress=progress.say)
    finally:
        progress.clear()


def _show(store: CheckpointStore, shown: FoundCheckpoints, output: str, *, known: bool) -> None:
    manifests = [(one, found_checkpoints.manifest_of(store, one)) for one in shown.found]
    if output == "json":
        echo_json([found_checkpoints.plain(one, manifest) for one, manifest in manifests])
        return
    if manifests:
        rows = [found_checkpoints.row(one, manifest, time.time()) for one, manifest in manifests]
        click.echo(table(found_checkpoints.HEADERS, rows))
    elif known:
        how = f"heronpy checkpoints {shown.name} --take, or {KEY} in its config"
        click.echo(f"no checkpoints of {shown.name} (try: {how})", err=True)
    for note in _notes(shown, time.time()):
        click.echo(note, err=True)


def _notes(shown: FoundCheckpoints, now: float) -> list[str]:
    node = shown.node
    if node is None:
        return []
    notes = [
        f"went back to checkpoint {each.checkpoint} {elapsed(now - each.at)} ago: {each.because}"
        for each in node.went_back
    ]
    if being_taken(node):
        return [*notes, f"checkpoint {being_taken(node)} is being taken"]
    if node.aborted and node.aborted == node.started:
        why = node.aborted_because or "no reason given"
        return [*notes, f"checkpoint {node.aborted} was given up: {why}"]
    return notes


def _verify(store: CheckpointStore, chosen: list[Found], output: str) -> None:
    seen: set[str] = set()
    results = [(one, _damage(store, one, seen)) for one in chosen]
    if output == "json":
        echo_json(
            [{"checkpoint": one.label, "execution": one.execution, "error": why} for one, why in results]
        )
    else:
        for one, why in results:
            click.echo(f"{one.label}: {why or f'whole, {size(one.ref.bytes)}'}")
    damaged = [one.label for one, why in results if why]
    if damaged:
        msg = f"damaged: {', '.join(damaged)}"
        raise UserError(msg, hint="use another checkpoint for submit --from")


def _damage(store: CheckpointStore, one: Found, seen: set[str]) -> str:
    try:
        found_checkpoints.verify(store, read_manifest(store, one.ref), seen)
    except CheckpointDamaged as damage:
        return str(damage)
    return ""


def _delete(store: CheckpointStore, every: FoundCheckpoints, chosen: list[Found]) -> None:
    gone = [one for one in chosen if not one.running]
    if not gone:
        msg = f"{every.name!r} runs, and collects its checkpoints itself"
        raise UserError(msg, hint="set checkpoint.retain to the number that it shall keep")
    bytes_ = found_checkpoints.total_bytes(store, gone)
    for prefix in dict.fromkeys(one.prefix for one in gone):
        stay = [one for one in every.found if one.prefix == prefix and one not in gone]
        delete_checkpoints(store, prefix, [one.ref for one in stay])
    if len(gone) == len(every.found):
        delete_objects(store, every.name)
    click.echo(f"deleted {found_checkpoints.counted(len(gone), bytes_)}")
