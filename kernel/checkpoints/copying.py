"""A copy of a checkpoint for another topology, which then does not depend on the original."""

from __future__ import annotations

import msgspec

from heronpy.kernel.checkpoints.manifest import Manifest, read_part, write_manifest
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, own_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore


def copy_checkpoint(
    source: CheckpointStore, manifest: Manifest, target: CheckpointStore, topology: str, execution: str
) -> CheckpointRef:
    """Copy every object, compared with its checksum, below the other topology's own names. Keeps its number.

    The original may then be deleted. CheckpointDamaged if an object is missing or its checksum differs.
    """
    folder = checkpoint_prefix(own_prefix(topology, execution), manifest.id)
    copies: dict[str, str] = {}
    for number, part in enumerate(manifest.parts().values(), 1):
        copies[part.object] = f"{folder}/copy-{number}"
        target.write(copies[part.object], [read_part(source, part)])

    def copied(part: StoredPart) -> StoredPart:
        return msgspec.structs.replace(part, object=copies[part.object])

    tasks = tuple(
        msgspec.structs.replace(task, parts=tuple(copied(part) for part in task.parts))
        for task in manifest.tasks
    )
    # the number of the run means nothing in another topology
    own = msgspec.structs.replace(manifest, topology=topology, execution=execution, run=0, tasks=tasks)
    return write_manifest(target, own)
