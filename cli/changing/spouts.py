"""The verbs that pause and resume the spouts of a topology, with a progress line meanwhile."""

from __future__ import annotations

import click

from heronpy.cli.options import shortcut, takes_name, takes_settings
from heronpy.cli.reading.topologies import open_state, require_alive
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import set_live
from heronpy.kernel.plugin import StateManager


def spouts_verb(verb: str, wanted: str, *, help: str, done: str) -> click.Command:
    """The command that writes the desired state `wanted` and waits until all spouts have it."""

    @click.command(verb, help=help)
    @takes_name
    @shortcut("--timeout", "DURATION", "How long to wait for the spouts.")
    @takes_settings
    def command(config: Config, name: str) -> None:
        with open_state(config) as state:
            _wait_for_spouts(config, state, name, wanted)
        click.echo(f"{name}: {done}")

    return command


def _wait_for_spouts(config: Config, state: StateManager, name: str, wanted: str) -> None:
    progress = ProgressLine()
    try:
        set_live(
            state,
            require_alive(config, state, name),
            wanted,
            timeout=config.number("submit.timeout"),
            progress=progress.say,
        )
    finally:
        progress.clear()
