"""Finds objects in the checkpoint store that are no longer needed, and removes them."""

from __future__ import annotations

from collections.abc import Iterable

from heronpy.kernel.checkpoints.manifest import Manifest, read_manifest, ref_name
from heronpy.kernel.checkpoints.object_names import MANIFEST, REF, components_prefix, origin_of
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
    """The names that may be deleted: objects of the execution `prefix` that are not in `keep`.

    Objects written for a checkpoint after `newest`, the newest complete one, may still become part of it, and
    objects of an update after `updates_over`, the epoch of the newest finished one, may still be loaded.
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
    """Delete the garbage and return its names. Idempotent, and safe to interrupt at any point."""
    names = store.names(f"{prefix}/")
    gone = garbage(names, prefix, needed(kept), newest=newest, updates_over=updates_over)
    ordered = _unfindable_first(gone)
    for name in ordered:
        store.delete(name)
    return ordered


def delete_checkpoints(store: CheckpointStore, prefix: str, stay: Iterable[CheckpointRef]) -> None:
    """Of an execution that is over, delete everything but these checkpoints."""
    keep = needed((ref, read_manifest(store, ref)) for ref in stay)
    for name in _unfindable_first(set(store.names(f"{prefix}/")) - keep):
        store.delete(name)


def delete_objects(store: CheckpointStore, topology: str) -> None:
    """Delete the objects that the components of a topology store themselves."""
    for name in store.names(f"{components_prefix(topology)}/"):
        store.delete(name)


def _unfindable_first(names: Iterable[str]) -> list[str]:
    """Manifests first: a checkpoint that is only partly deleted must not be found."""
    return sorted(names, key=lambda name: (not name.endswith((f"/{REF}", f"/{MANIFEST}")), name))
