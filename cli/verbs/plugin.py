"""heronpy plugin new KIND NAME: a package to begin a plugin with."""

from __future__ import annotations

from pathlib import Path

import click

from heronpy.cli.plugin_package import KINDS, PluginPackage
from heronpy.kernel.errors import UserError
from heronpy.kernel.plugin.opening import installed


@click.group("plugin")
def command() -> None:
    """Make the package of a new plugin."""


@command.command("new")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where to make it.  [default: ./heronpy-NAME-KIND]"
)
def new(kind: str, name: str, folder: Path | None) -> None:
    """Make a package with a plugin of this KIND: every method is there, and none is written.

    Its test is the engine's contract for the kind; a command has none, and a test to begin with. It fails
    and names what is not written yet; when it passes, the plugin does what the engine relies on.
    """
    package = PluginPackage(kind, name)
    _refuse_taken(package)
    place = folder if folder is not None else Path(package.distribution)
    package.write(place)
    click.echo(f"made  {place}, a package with the {package.kind} {name}")
    click.echo(f"next  cd {place} && python -m pytest, and write {package.source} until it passes")


def _refuse_taken(package: PluginPackage) -> None:
    for provided in installed().listing():
        if (provided.kind, provided.name) == (package.registered_as, package.name):
            msg = f"the {package.kind} {package.name!r} exists already, in {provided.origin}"
            raise UserError(msg, hint="choose another name")
