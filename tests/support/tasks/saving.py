"""Checkpoints for tests: objects and manifests as a running topology would leave them."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, checksum, write_manifest
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.plugin import CheckpointStore

NAME = "wordcount"
EXECUTION = "e1"
PREFIX = own_prefix(NAME, EXECUTION)


def part(
    store: CheckpointStore, name: str, data: bytes, *groups: int, whole: bool = False, opaque: bool = False
) -> StoredPart:
    """Write an object, and say what it is."""
    store.write(name, [data])
    return StoredPart(name, checksum(data), len(data), groups, whole, opaque)


def saved(
    store: CheckpointStore,
    number: int,
    *tasks: SavedTask,
    name: str = NAME,
    execution: str = EXECUTION,
    key_groups: int = 256,
    splits: Mapping[str, tuple[str, ...]] | None = None,
    at: float = 1000.0,
) -> CheckpointRef:
    """A complete checkpoint; without tasks, of words[0] and two counters with 3 bytes each."""
    folder = checkpoint_prefix(own_prefix(name, execution), number)
    found = tasks or (
        SavedTask(1, "words", 0),
        SavedTask(2, "count", 0, (part(store, f"{folder}/2-1", b"abc", *range(128)),)),
        SavedTask(3, "count", 1, (part(store, f"{folder}/3-1", b"def", *range(128, 256)),)),
    )
    manifest = Manifest(
        topology=name,
        execution=execution,
        id=number,
        at=at,
        key_groups=key_groups,
        splits=dict(splits or {}),
        tasks=found,
    )
    return write_manifest(store, manifest, seconds=0.25)
