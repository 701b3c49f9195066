"""heronpy deactivate NAME: pauses the spouts."""

from __future__ import annotations

from heronpy.cli.changing.spouts import spouts_verb
from heronpy.kernel.tree.paths import PAUSED

command = spouts_verb(
    "deactivate",
    PAUSED,
    help="Pause the spouts of topology NAME; what is on its way is still processed.",
    done="spouts are paused",
)
