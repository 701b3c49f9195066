"""heronpy plan NAME: which instance runs in which container; with FILE --explain, a pipeline's stages."""

from __future__ import annotations

import os
from typing import get_args

import click

from heronpy.cli.options import complete_names, takes_settings
from heronpy.cli.reading.topologies import open_state, require
from heronpy.cli.views.output import echo_json, plural, table
from heronpy.cli.views.plan_view import plan_json, plan_rows
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import LogicalPlan, PackingPlan
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import needed
from heronpy.loading.exchange import Drawing, ExplainRequest
from heronpy.loading.file_process import load, source_of

HEADERS = ("container", "instance", "kind", "cpu", "ram", "disk")


@click.command("plan")
@click.argument("name", metavar="NAME|FILE", shell_complete=complete_names)
@click.argument("args", nargs=-1)
@click.option("--explain", is_flag=True, help="What the pipelines of FILE become: stages, exchanges, state.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(get_args(Drawing)),
    default="table",
    show_default=True,
    help="Form of the output; mermaid and dot are drawings of a pipeline.",
)
@takes_settings
def command(config: Config, name: str, args: tuple[str, ...], explain: bool, output: Drawing) -> None:
    """Show the packing plan of topology NAME: its containers, their instances and resources.

    With --explain, show the stages of the pipelines that FILE defines; nothing is started. ARGS go to FILE as
    its sys.argv.
    """
    if explain:
        click.echo(load(ExplainRequest(source_of(name, args), output)).shown)
        return
    if name.endswith(".py") or os.path.isfile(name):
        msg = f"{name} is a file, and plan shows the plan of a topology that was submitted"
        raise UserError(msg, hint=f"heronpy plan {name} --explain, or heronpy submit {name} --dry-run")
    if args or output not in ("table", "json"):
        msg = f"{'arguments' if args else f'the form {output}'} goes with --explain"
        raise click.UsageError(msg, click.get_current_context())
    with open_state(config) as state:
        tree = Tree(require(state, name))
        packing = needed(state, tree.packing_plan, PackingPlan)
        logical = needed(state, tree.definition, LogicalPlan)
    show_plan(packing, logical, output)


def size_of(packing: PackingPlan) -> str:
    return f"{plural(len(packing.instances()), 'instance')} in {plural(len(packing.containers), 'container')}"


def show_plan(packing: PackingPlan, logical: LogicalPlan, output: str) -> None:
    """Print a plan; also what `submit --dry-run` does."""
    if output == "json":
        echo_json(plan_json(packing, logical))
        return
    click.echo(f"{packing.topology}: {size_of(packing)} ({packing.algorithm})")
    rows: list[tuple[str, ...]] = []
    for container in plan_rows(packing, logical):
        rows.append((str(container.id), "", "", *container.resources))
        rows += [("", instance.label, instance.kind, *instance.resources) for instance in container.instances]
    click.echo(table(HEADERS, rows))
