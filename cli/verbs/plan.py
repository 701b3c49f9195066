"""heronpy plan NAME: which instance runs in which container."""

from __future__ import annotations

import click

from heronpy.cli.options import takes_name, takes_output, takes_settings
from heronpy.cli.reading.topologies import open_state, require
from heronpy.cli.views.output import echo_json, plural, table
from heronpy.cli.views.plan_view import plan_json, plan_rows
from heronpy.kernel.config import Config
from heronpy.kernel.plans import LogicalPlan, PackingPlan
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import needed

HEADERS = ("container", "instance", "kind", "cpu", "ram", "disk")


@click.command("plan")
@takes_name
@takes_output
@takes_settings
def command(config: Config, name: str, output: str) -> None:
    """Show the packing plan of topology NAME: its containers, their instances and resources."""
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
