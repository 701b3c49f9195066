"""Limits that a packing plan may pass: refused before anything is started or changed."""

from __future__ import annotations

from heronpy.kernel.addresses import HIGHEST_PORT
from heronpy.kernel.config import Config
from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import PackingPlan


def check_limits(config: Config, packing: PackingPlan) -> None:
    """Raise a PackingError for a container that would have no port."""
    base, last = config.integer("transport.port"), max(container.id for container in packing.containers)
    if base and base + last > HIGHEST_PORT:
        msg = (
            f"transport.port is {base} (from {config.origin('transport.port')}), and container {last} would"
            f" listen on {base + last}, where ports end at {HIGHEST_PORT}"
        )
        raise PackingError(msg, hint=f"--set transport.port={HIGHEST_PORT - last} or less")
