"""Pausing and resuming the spouts of a topology, with a progress line meanwhile."""

from __future__ import annotations

from heronpy.cli.reading.topologies import require_alive
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.config import Config
from heronpy.kernel.master.client import set_live
from heronpy.kernel.plugin import StateManager


def wait_for_spouts(config: Config, state: StateManager, name: str, wanted: str) -> None:
    """Write the desired state, and wait until all spouts have it."""
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
