"""Names in the checkpoint store: TOPOLOGY/EXECUTION/ID/… and TOPOLOGY/EXECUTION/update-EPOCH/…

What components keep there themselves is in TOPOLOGY/components/COMPONENT/…, and outlives an execution.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

MANIFEST: Final = "manifest"
#: beside each manifest: its CheckpointRef, so that it can be found without the state tree
REF: Final = "ref"

_UPDATE: Final = "update-"
#: never the name of an execution, which is hexadecimal
_COMPONENTS: Final = "components"


class Origin(NamedTuple):
    """What an object was written for: a checkpoint's number, or the epoch of an update."""

    kind: Literal["checkpoint", "update"]
    number: int


def own_prefix(topology: str, execution: str) -> str:
    """The names of all objects of one execution, and of no other, begin with this and a slash."""
    return f"{topology}/{execution}"


def components_prefix(topology: str) -> str:
    """The names of all objects that components store begin with this and a slash, in every execution."""
    return f"{topology}/{_COMPONENTS}"


def component_prefix(topology: str, component: str) -> str:
    """Beginning of the objects that one component keeps."""
    return f"{components_prefix(topology)}/{component}"


def checkpoint_prefix(prefix: str, checkpoint: int) -> str:
    """Beginning of the objects that are written for a checkpoint; `prefix` is the execution's own."""
    return f"{prefix}/{checkpoint}"


def update_prefix(prefix: str, epoch: int) -> str:
    """Beginning of the objects that are handed over for a new plan."""
    return f"{prefix}/{_UPDATE}{epoch}"


def origin_of(prefix: str, name: str) -> Origin | None:
    """What an object of this execution was written for; None for any other name."""
    if not name.startswith(f"{prefix}/"):
        return None
    section = name.removeprefix(f"{prefix}/").partition("/")[0]
    number = section.removeprefix(_UPDATE)
    if not (number.isascii() and number.isdigit()):
        return None
    return Origin("update" if section.startswith(_UPDATE) else "checkpoint", int(number))
