"""The node `shipped`: what was uploaded for containers on other machines."""

from __future__ import annotations

import msgspec

from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin import Shipped, StateManager
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read


class ShippedFiles(msgspec.Struct, frozen=True):
    """Value of the node."""

    files: tuple[Shipped, ...]


def write_shipped(state: StateManager, topology: str, files: tuple[Shipped, ...]) -> None:
    state.set(Tree(topology).shipped, NODE.encode(ShippedFiles(files)))


def read_shipped(state: StateManager, topology: str) -> tuple[Shipped, ...]:
    """Nothing if its containers are on this machine."""
    found = read(state, Tree(topology).shipped, ShippedFiles)
    return found.files if found is not None else ()
