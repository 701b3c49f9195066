"""heronpy version: the versions that matter in a bug report."""

from __future__ import annotations

import importlib.metadata
import platform

import click

from heronpy.cli.options import takes_output, takes_settings
from heronpy.cli.views.output import echo_json
from heronpy.kernel.config import Config

DISTRIBUTION = "heron-py"


@click.command("version")
@takes_output
@takes_settings
def command(config: Config, output: str) -> None:
    """Show the versions of heronpy, Python and pyzmq."""
    del config
    found = {
        "heronpy": engine_version(),
        "python": platform.python_version(),
        "pyzmq": importlib.metadata.version("pyzmq"),
    }
    if output == "json":
        echo_json(found)
        return
    click.echo("  ".join(f"{name} {version}" for name, version in found.items()))


def engine_version() -> str:
    return importlib.metadata.version(DISTRIBUTION)
