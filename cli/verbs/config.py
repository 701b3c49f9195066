"""heronpy config show: every setting, its value, and the layer it comes from."""

from __future__ import annotations

import click

from heronpy.cli.options import takes_output, takes_settings
from heronpy.cli.views.output import echo_json, table
from heronpy.kernel.config import Config


@click.group("config")
def command() -> None:
    """Show the settings and where each comes from."""


@command.command("show")
@takes_output
@takes_settings
def show(config: Config, output: str) -> None:
    """Print every setting with its value and its origin.

    Later layers win: default, file (--config, ./heron.toml or ~/.config/heronpy/heron.toml), environment
    (HERONPY_CREDIT_WINDOW=1s), flag (--set credit.window=1s).
    """
    if output == "json":
        echo_json({key: {"value": value, "origin": config.origin(key)} for key, value in config.items()})
        return
    rows = [(key, config.shown(key), config.origin(key)) for key in config]
    click.echo(table(("setting", "value", "from"), rows))
