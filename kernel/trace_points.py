"""The steps of a submit, a checkpoint, a restore and an update, announced so that others can follow them."""

from __future__ import annotations

import sys
from typing import Final

#: name of the event; see sys.addaudithook
EVENT: Final = "heronpy.step"


def step(name: str) -> None:
    """Announce that a step has been taken, as an audit event of this process.

    Costs next to nothing without an audit hook. `docs/steps.md` lists every name.
    """
    sys.audit(EVENT, name)
