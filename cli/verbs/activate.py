"""heronpy activate NAME: lets the spouts emit again."""

from __future__ import annotations

from heronpy.cli.changing.spouts import spouts_verb
from heronpy.kernel.tree.paths import RUNNING

command = spouts_verb(
    "activate", RUNNING, help="Let the spouts of topology NAME emit again.", done="spouts emit again"
)
