"""Which checkpoints an execution has, by its objects in the checkpoint store alone."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec

from heronpy.kernel.checkpoints.manifest import Manifest, read_manifest, ref_of
from heronpy.kernel.checkpoints.object_names import MANIFEST, REF, checkpoint_prefix, origin_of
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import CheckpointDamaged, ObjectMissing
from heronpy.kernel.formats import MANIFEST as MANIFEST_FORMAT
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore

T = TypeVar("T")


class InStore(NamedTuple):
    """The checkpoints of one execution, as found in the store."""

    #: newest last; unreadable ones are included
    refs: tuple[CheckpointRef, ...] = ()
    #: the newest run that one of them was taken in
    run: int = 0


def checkpoints_in_store(store: CheckpointStore, prefix: str) -> InStore:
    """Every checkpoint with a manifest. When a run begins, the store has none that is not complete."""
    found = [_found(store, prefix, number) for number in _numbers(store, prefix)]
    return InStore(tuple(ref for ref, _ in found), max((run for _, run in found), default=0))


def drop_manifests(store: CheckpointStore, prefix: str, *, after: int, also: frozenset[int]) -> None:
    """Delete the manifests of checkpoints later than `after` and of `also`: none may count as complete."""
    for number in _numbers(store, prefix):
        if number > after or number in also:
            for name in (REF, MANIFEST):
                store.delete(f"{checkpoint_prefix(prefix, number)}/{name}")


def _numbers(store: CheckpointStore, prefix: str) -> list[int]:
    numbers = set()
    for name in store.names(f"{prefix}/"):
        origin = origin_of(prefix, name)
        if origin is not None and origin.kind == "checkpoint" and name.endswith((f"/{MANIFEST}", f"/{REF}")):
            numbers.add(origin.number)
    return sorted(numbers)


def _found(store: CheckpointStore, prefix: str, number: int) -> tuple[CheckpointRef, int]:
    """Its reference and its run. A missing reference is rebuilt from the manifest."""
    folder = checkpoint_prefix(prefix, number)
    name = f"{folder}/{MANIFEST}"
    ref = _decoded(store, f"{folder}/{REF}", CheckpointRef)
    if ref is not None and (ref.id, ref.manifest) == (number, name):
        try:
            manifest = read_manifest(store, ref)
        except CheckpointDamaged:
            return ref, 0
        return msgspec.structs.replace(ref, transactions=manifest.transactions), manifest.run
    alone = _decoded(store, name, Manifest)
    if alone is not None and alone.id == number:
        made = ref_of(alone, store.read(name))
        if made.manifest == name:
            return made, alone.run
    # unreadable is not missing: the checkpoint existed, and may have committed transactions
    return CheckpointRef(number, name, "", transactions=1), 0


def _decoded(store: CheckpointStore, name: str, kind: type[T]) -> T | None:
    try:
        return MANIFEST_FORMAT.decode(store.read(name), kind, name)
    except (ObjectMissing, msgspec.DecodeError, UnicodeDecodeError):
        return None
