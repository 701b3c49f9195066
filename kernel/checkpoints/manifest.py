"""The manifest of a checkpoint: which objects it consists of."""

from __future__ import annotations

import msgspec
from xxhash import xxh3_128_hexdigest

from heronpy.kernel.checkpoints.object_names import MANIFEST, REF, checkpoint_prefix, own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.errors import CheckpointDamaged, ObjectMissing
from heronpy.kernel.formats import MANIFEST as MANIFEST_FORMAT
from heronpy.kernel.plans.logical import StateShape
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore


class SavedTask(msgspec.Struct, frozen=True):
    """What one task has saved, spread over objects of this checkpoint and of earlier ones."""

    task: int
    component: str
    index: int
    parts: tuple[StoredPart, ...] = ()


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All of one checkpoint. The Topology Master writes it from the plan in force and the tasks' beats."""

    topology: str
    execution: str
    id: int
    #: the run it was taken in; 0 where there are no runs
    run: int = 0
    #: of the plan in force
    epoch: int = 1
    #: wall-clock second when everything was stored
    at: float = 0.0
    key_groups: int
    #: for each spout that has splits: their names, by the number that stands in `groups`
    splits: dict[str, tuple[str, ...]] = {}
    tasks: tuple[SavedTask, ...] = ()
    #: how many transactions with the outside are committed once it is complete
    transactions: int = 0
    #: component → step → what it keeps, of a pipeline
    shapes: dict[str, dict[str, StateShape]] = {}

    def parts(self) -> dict[str, StoredPart]:
        """Every object that it names, once."""
        return {part.object: part for task in self.tasks for part in task.parts}

    def bytes(self) -> int:
        """Size of all that it names."""
        return sum(part.bytes for part in self.parts().values())

    def parallelism(self) -> dict[str, int]:
        """Tasks per component."""
        counts: dict[str, int] = {}
        for task in self.tasks:
            counts[task.component] = counts.get(task.component, 0) + 1
        return counts


def checksum(data: bytes) -> str:
    """The checksum in StoredPart and CheckpointRef."""
    return xxh3_128_hexdigest(data)


def write_manifest(store: CheckpointStore, manifest: Manifest, *, seconds: float = 0.0) -> CheckpointRef:
    """Store the manifest; what it names must be there. `seconds` is how long the checkpoint took.

    Its reference is stored beside it. A checkpoint is complete once the reference is in the state tree; the
    copy in the store serves to find it after the topology and its nodes are gone.
    """
    data = MANIFEST_FORMAT.encode(manifest)
    ref = ref_of(manifest, data, seconds)
    store.write(ref.manifest, [data])
    write_ref(store, ref)
    return ref


def ref_of(manifest: Manifest, data: bytes, seconds: float = 0.0) -> CheckpointRef:
    """The reference to a manifest that is stored as these bytes."""
    folder = checkpoint_prefix(own_prefix(manifest.topology, manifest.execution), manifest.id)
    return CheckpointRef(
        manifest.id,
        f"{folder}/{MANIFEST}",
        checksum(data),
        manifest.bytes(),
        manifest.at,
        seconds,
        manifest.epoch,
        manifest.transactions,
    )


def write_ref(store: CheckpointStore, ref: CheckpointRef) -> None:
    """Put a reference beside its manifest."""
    store.write(ref_name(ref), [MANIFEST_FORMAT.encode(ref)])


def ref_name(ref: CheckpointRef) -> str:
    return f"{ref.manifest.removesuffix(MANIFEST)}{REF}"


def read_manifest(store: CheckpointStore, ref: CheckpointRef) -> Manifest:
    """CheckpointDamaged if it is not there, or not what it was."""
    data = read_checked(store, ref.manifest, ref.checksum)
    try:
        return MANIFEST_FORMAT.decode(data, Manifest, f"the manifest {ref.manifest}")
    except msgspec.DecodeError as error:
        # the bytes are as they were written, so something else wrote them
        msg = f"{ref.manifest} is not a manifest: {error}"
        raise CheckpointDamaged(msg, hint="use another checkpoint") from error


def read_part(store: CheckpointStore, part: StoredPart) -> bytes:
    """The bytes of an object. CheckpointDamaged if it is not there, or not what it was."""
    return read_checked(store, part.object, part.checksum)


def read_checked(store: CheckpointStore, name: str, expected: str) -> bytes:
    try:
        data = store.read(name)
    except ObjectMissing as error:
        msg = f"object {name} is missing from the checkpoint store"
        raise CheckpointDamaged(msg, hint="use another checkpoint") from error
    if checksum(data) != expected:
        msg = f"object {name} in the checkpoint store is damaged: its checksum differs"
        raise CheckpointDamaged(msg, hint="use another checkpoint")
    return data
