"""heronpy submit FILE: start a topology in the background."""

from __future__ import annotations

from typing import Any

import click

from heronpy.cli.options import shortcut, takes_output, takes_settings
from heronpy.cli.reading.topologies import log_folder, open_state, where_logs_are
from heronpy.cli.submitting.from_checkpoint import find_base
from heronpy.cli.submitting.starting import start, tell_basis, warn
from heronpy.cli.submitting.submission import Prepared, prepare
from heronpy.cli.verbs.plan import show_plan, size_of
from heronpy.cli.views.output import echo_json
from heronpy.cli.views.plan_view import plan_json
from heronpy.kernel.checkpoints.compatibility import DROP
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plugin import Registry
from heronpy.kernel.plugin.opening import installed


@click.command("submit")
@click.argument("file", type=click.Path())
@click.argument("args", nargs=-1)
@shortcut("--packing", "NAME", "Packing plugin.")
@shortcut("--scheduler", "NAME", "Scheduler plugin.")
@click.option("--name", help="Name of the topology, instead of its own.")
@click.option("--from", "base", metavar="CHECKPOINT", help="Begin with a checkpoint: NAME, or NAME@ID.")
@click.option(DROP, "drop", is_flag=True, help="Drop state that no component takes over.")
@click.option("--dry-run", is_flag=True, help="Show what would run where, and start nothing.")
@click.option("--wait/--no-wait", default=True, help="Wait until it runs (the default), or not.")
@shortcut("--timeout", "DURATION", "How long to wait, e.g. 30s.")
@takes_output
@takes_settings
def command(
    config: Config,
    file: str,
    args: tuple[str, ...],
    name: str | None,
    base: str | None,
    drop: bool,
    dry_run: bool,
    wait: bool,
    output: str,
) -> None:
    """Start the topologies that FILE defines, and wait until they run.

    ARGS go to FILE as its sys.argv; those that begin with a dash come after --.
    """
    registry = installed()
    prepared = prepare(config, registry, file, args, name)
    if base is not None:
        prepared = [_with_base(config, registry, prepared, base, drop)]
    elif drop:
        msg = f"{DROP} goes with --from CHECKPOINT"
        raise click.UsageError(msg, click.get_current_context())
    warn(prepared)
    if dry_run:
        _show_plans(prepared, output)
        return
    started: list[dict[str, Any]] = []
    with open_state(config, registry) as state:
        tell_basis(config, state)
        try:
            for one in prepared:
                launch = start(config, state, one, wait=wait)
                started.append(_started(config, one, launch, wait))
                if output != "json":
                    _show_started(config, one, launch, wait)
        finally:
            if output == "json" and started:
                _echo_json(started, len(prepared))


EFFECTIVELY_ONCE = "effectively_once"


def _with_base(
    config: Config, registry: Registry, prepared: list[Prepared], label: str, drop: bool
) -> Prepared:
    if len(prepared) != 1:
        msg = f"the file defines {len(prepared)} topologies, and --from is for one"
        raise UserError(msg, hint="put each topology into a file of its own")
    with open_state(config, registry) as state:
        base = find_base(config, state, label, prepared[0].logical, drop=drop)
    reliability = prepared[0].logical.reliability
    if base.manifest.run and reliability != EFFECTIVELY_ONCE:
        told = f"warning: {base.found.label} was taken at {EFFECTIVELY_ONCE}, and this is {reliability}"
        click.echo(f"{told} (try: --set topology.reliability.mode=EFFECTIVELY_ONCE)", err=True)
    return prepared[0]._replace(base=base)


def _show_plans(prepared: list[Prepared], output: str) -> None:
    if output == "json":
        _echo_json([_plan_json(one) for one in prepared], len(prepared))
        return
    for one in prepared:
        show_plan(one.packing, one.logical, output)
        if one.base is not None:
            click.echo(f"begins with {one.base.described(one.logical)}")
    click.echo("nothing was started")


def _plan_json(one: Prepared) -> dict[str, Any]:
    plan = plan_json(one.packing, one.logical)
    return plan if one.base is None else {**plan, "from": one.base.found.label}


def _echo_json(found: list[Any], topologies: int) -> None:
    """An object for a file with one topology, else a list of them: always one document."""
    echo_json(found[0] if topologies == 1 else found)


def _started(config: Config, one: Prepared, launch: TopologyLaunch, wait: bool) -> dict[str, Any]:
    name = one.logical.name
    state = "RUNNING" if wait else "STARTING"
    return {
        "name": name,
        "state": state,
        "execution": launch.execution,
        "logs": str(log_folder(config, name)),
        "settings": config.files,
    }


def _show_started(config: Config, one: Prepared, launch: TopologyLaunch, wait: bool) -> None:
    name = one.logical.name
    click.echo(f"{name} {'runs' if wait else 'was submitted'}: {size_of(one.packing)}")
    if one.base is not None:
        click.echo(f"from  {one.base.described(one.logical)}")
    click.echo(f"logs  {where_logs_are(config, launch)}")
    click.echo(f"next  heronpy top {name} | heronpy status {name} | heronpy kill {name}")
