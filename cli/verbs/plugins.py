"""heronpy plugins: what is installed, of which kind, and from where."""

from __future__ import annotations

import click

from heronpy.cli.options import takes_output, takes_settings
from heronpy.cli.views.output import echo_json, table
from heronpy.kernel.config import Config
from heronpy.kernel.plugin.opening import installed


@click.command("plugins")
@takes_output
@takes_settings
def command(config: Config, output: str) -> None:
    """List the installed plugins: name, kind and where each came from."""
    del config
    found = installed().listing()
    if output == "json":
        echo_json([{"name": one.name, "kind": one.kind, "origin": one.origin} for one in found])
        return
    click.echo(table(("name", "kind", "from"), [(one.name, one.kind, one.origin) for one in found]))
