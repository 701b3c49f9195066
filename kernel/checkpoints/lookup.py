"""Finding checkpoints: those of a running topology in the state tree, those of dead ones in the store."""

from __future__ import annotations

import msgspec

from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import REF, own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import ObjectMissing, UserError
from heronpy.kernel.formats import MANIFEST
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore


class Found(msgspec.Struct, frozen=True):
    """A complete checkpoint, with the topology and execution that took it."""

    topology: str
    execution: str
    ref: CheckpointRef
    #: whether the topology still runs, and may collect it
    running: bool

    @property
    def label(self) -> str:
        """As it is shown and written on the command line: wordcount@7."""
        return f"{self.topology}@{self.ref.id}"

    @property
    def prefix(self) -> str:
        return own_prefix(self.topology, self.execution)


def find_checkpoints(
    store: CheckpointStore, topology: str, execution: str = "", node: Checkpoints | None = None
) -> list[Found]:
    """All checkpoints of the topology and of earlier ones of its name, newest first.

    `execution` is the one that runs. Of that one only its node counts: the store may also have a reference to
    one that was never completed.
    """
    found = [Found(topology, execution, ref, True) for ref in (node.complete if node else ())]
    for name in store.names(f"{topology}/"):
        segments = name.split("/")
        if len(segments) != 4 or segments[3] != REF or segments[1] == execution:
            continue
        ref = _read_ref(store, name)
        if ref is not None:
            found.append(Found(topology, segments[1], ref, False))
    return _newest_first(found)


def _newest_first(found: list[Found]) -> list[Found]:
    """Checkpoints of one execution are ordered by number, executions by wall-clock time."""
    newest: dict[str, float] = {}
    for one in found:
        newest[one.execution] = max(one.ref.at, newest.get(one.execution, one.ref.at))
    return sorted(
        found,
        key=lambda one: (one.running, newest[one.execution], one.execution, one.ref.id),
        reverse=True,
    )


def choose(found: list[Found], topology: str, wanted: str) -> Found:
    """The one that NAME@`wanted` means: "" is the newest, else ID or EXECUTION/ID."""
    execution, _, number = wanted.rpartition("/")
    for one in found:
        if not wanted or (number == str(one.ref.id) and execution in ("", one.execution)):
            return one
    if not found:
        msg = f"there is no checkpoint of {topology!r}"
        raise UserError(msg, hint=f"heronpy checkpoints {topology} --take, while it runs")
    known = ", ".join(dict.fromkeys(str(one.ref.id) for one in found))
    msg = f"there is no checkpoint {wanted!r} of {topology!r} (known: {known})"
    raise UserError(msg, hint=f"heronpy checkpoints {topology}")


def _read_ref(store: CheckpointStore, name: str) -> CheckpointRef | None:
    try:
        return MANIFEST.decode(store.read(name), CheckpointRef, f"the reference {name}")
    except (ObjectMissing, msgspec.DecodeError):
        return None  # deleted meanwhile, or not written by the engine
