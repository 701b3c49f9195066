"""A manifest is read as it was written, or not at all."""

from __future__ import annotations

import msgspec
import pytest
from support.tasks.saving import NAME, PREFIX, part, saved

from heronpy.kernel.checkpoints.manifest import SavedTask, checksum, read_manifest, read_part
from heronpy.kernel.checkpoints.object_names import Origin, checkpoint_prefix, origin_of, update_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.errors import CheckpointDamaged
from heronpy.kernel.plugin import CheckpointStore


def test_a_checkpoint_is_found_again_by_its_reference(store: CheckpointStore) -> None:
    ref = saved(store, 7)
    assert ref == CheckpointRef(7, f"{PREFIX}/7/manifest", ref.checksum, 6, 1000.0, 0.25, ref.epoch)
    manifest = read_manifest(store, ref)
    assert (manifest.topology, manifest.id, manifest.key_groups) == (NAME, 7, 256)
    assert manifest.parallelism() == {"words": 1, "count": 2}
    assert [read_part(store, each) for each in manifest.parts().values()] == [b"abc", b"def"]


def test_the_reference_also_lies_beside_the_manifest(store: CheckpointStore) -> None:
    ref = saved(store, 7)
    assert msgspec.json.decode(store.read(f"{PREFIX}/7/ref"), type=CheckpointRef) == ref


def test_an_object_that_two_tasks_name_counts_once(store: CheckpointStore) -> None:
    shared = part(store, f"{PREFIX}/6/2-1", b"abcd", 1, 2)
    tasks = [SavedTask(task, "count", task - 2, (shared,)) for task in (2, 3)]
    assert saved(store, 7, *tasks).bytes == 4


def test_a_damaged_manifest_is_named(store: CheckpointStore) -> None:
    ref = saved(store, 7)
    store.write(ref.manifest, [store.read(ref.manifest).replace(b"count", b"cuont")])
    with pytest.raises(CheckpointDamaged) as damaged:
        read_manifest(store, ref)
    assert str(damaged.value) == (
        f"object {PREFIX}/7/manifest in the checkpoint store is damaged: its checksum differs"
        " (try: use another checkpoint)"
    )


def test_a_missing_object_is_named(store: CheckpointStore) -> None:
    ref = saved(store, 7)
    store.delete(f"{PREFIX}/7/3-1")
    missing = read_manifest(store, ref).parts()[f"{PREFIX}/7/3-1"]
    with pytest.raises(CheckpointDamaged, match=f"^object {PREFIX}/7/3-1 is missing from the checkpoint"):
        read_part(store, missing)


def test_a_damaged_object_is_named(store: CheckpointStore) -> None:
    good = part(store, f"{PREFIX}/7/3-1", b"state")
    store.write(good.object, [b"stale"])
    with pytest.raises(CheckpointDamaged, match=f"^object {PREFIX}/7/3-1 in the .* is damaged"):
        read_part(store, good)


def test_bytes_that_are_no_manifest_are_refused(store: CheckpointStore) -> None:
    store.write("x/y/1/manifest", [b"{}"])
    with pytest.raises(CheckpointDamaged, match=r"^x/y/1/manifest is not a manifest: "):
        read_manifest(store, CheckpointRef(1, "x/y/1/manifest", checksum(b"{}")))


def test_the_checksum_is_xxh3() -> None:
    """Part of the format: what was saved must be readable by later versions."""
    assert checksum(b"") == "99aa06d3014798d86001c324468d497f"
    assert StoredPart("x", checksum(b"abc"), 3).checksum == "06b05ab6733a618578af5f94892f3950"


def test_names_say_what_an_object_was_written_for() -> None:
    assert origin_of(PREFIX, f"{checkpoint_prefix(PREFIX, 7)}/3-1") == Origin("checkpoint", 7)
    assert origin_of(PREFIX, f"{update_prefix(PREFIX, 2)}/3-1") == Origin("update", 2)
    for strange in ("wordcount/e2/7/3-1", "wordcount/e1x/7/3-1", f"{PREFIX}/notes/1", f"{PREFIX}/-7/1", "x"):
        assert origin_of(PREFIX, strange) is None
