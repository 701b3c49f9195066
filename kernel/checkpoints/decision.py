"""A person decides that a topology goes back to an older checkpoint, and repeats what was committed since."""

from __future__ import annotations

import msgspec


class Decision(msgspec.Struct, frozen=True):
    """Value of /NAME/restore. The Topology Master removes it when a run has begun with the checkpoint."""

    checkpoint: int
    by: str = ""
