"""Which objects in the checkpoint store nobody needs any more, and removing them."""

from __future__ import annotations

from collections.abc import Iterable

from heronpy.kernel.checkpoints.manifest import Manifest, ref_name
from heronpy.kernel.checkpoints.names import origin_of
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore


def needed(kept: Iterable[tuple[CheckpointRef, Manifest]]) -> set[str]:
    """The objects that some checkpoints consist of, their manifests included."""
    names: set[str] = set()
    for ref, manifest in kept:
        names |= {ref.manifest, ref_name(ref), *manifest.parts()}
    return names


def garbage(
    names: Iterable[str], prefix: str, keep: set[str], *, newest: int, updates_over: int = 0
) -> list[str]:
    """Those of `names` that may go: objects of the execution `prefix` that `keep` does not have.

    What was written for a checkpoint after `newest`, the newest complete one, may still become part of one.
    So may what is handed over in an update after `updates_over`, the epoch of the newest one that is over.
    """
    over = {"checkpoint": newest, "update": updates_over}
    found = []
    for name in names:
        origin = origin_of(prefix, name)
        if origin is not None and name not in keep and origin.number <= over[origin.kind]:
            found.append(name)
    return found


def collect(
    store: CheckpointStore,
    prefix: str,
    kept: Iterable[tuple[CheckpointRef, Manifest]],
    *,
    newest: int,
    updates_over: int = 0,
) -> list[str]:
    """Delete what is garbage, and say what that was. May be repeated, and be cut short at any point.

    The first to go are manifests: what is left of a checkpoint of which something is gone cannot be found.
    """
    gone = garbage(store.names(f"{prefix}/"), prefix, needed(kept), newest=newest, updates_over=updates_over)
    gone.sort(key=lambda name: (not name.endswith(("/ref", "/manifest")), name))
    for name in gone:
        store.delete(name)
    return gone
