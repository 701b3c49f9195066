"""Checkpoints are found with the state tree and without it, and copied so that they depend on nobody."""

from __future__ import annotations

import pytest
from support.tasks.saving import NAME, PREFIX, part, saved

from heronpy.kernel.checkpoints.collection import delete_checkpoints
from heronpy.kernel.checkpoints.copying import copy_checkpoint
from heronpy.kernel.checkpoints.lookup import choose, find_checkpoints
from heronpy.kernel.checkpoints.manifest import SavedTask, read_manifest, read_part
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import CheckpointDamaged, UserError
from heronpy.kernel.plugin import CheckpointStore


def test_what_dead_topologies_left_is_found_newest_first(store: CheckpointStore) -> None:
    first = saved(store, 3, execution="e0", at=10.0)
    second, third = saved(store, 1, at=20.0), saved(store, 2, at=30.0)
    saved(store, 9, name="wordcount2")
    store.write(f"{PREFIX}/4/ref", [b"nonsense"])
    store.write(f"{PREFIX}/5/2-1", [b"of one that never was complete"])
    found = find_checkpoints(store, NAME)
    assert [(one.execution, one.ref, one.running) for one in found] == [
        ("e1", third, False),
        ("e1", second, False),
        ("e0", first, False),
    ]


def test_of_a_running_topology_only_what_its_node_says_counts(store: CheckpointStore) -> None:
    kept, _never_completed = saved(store, 1, at=20.0), saved(store, 2, at=30.0)
    earlier = saved(store, 5, execution="e0", at=10.0)
    found = find_checkpoints(store, NAME, "e1", Checkpoints(started=2, complete=(kept,)))
    assert [(one.label, one.ref, one.running) for one in found] == [
        ("wordcount@1", kept, True),
        ("wordcount@5", earlier, False),
    ]


def test_a_clock_that_was_set_back_makes_no_older_checkpoint_the_newest(store: CheckpointStore) -> None:
    """To begin with an older one would repeat what sinks have committed since."""
    saved(store, 9, execution="e0", at=5000.0)
    before, after = saved(store, 1, at=7000.0), saved(store, 2, at=3400.0)
    dead = find_checkpoints(store, NAME)
    assert [(one.execution, one.ref.id) for one in dead] == [("e1", 2), ("e1", 1), ("e0", 9)]
    assert choose(dead, NAME, "").ref == after
    running = find_checkpoints(store, NAME, "e1", Checkpoints(started=2, complete=(after,)))
    assert [(one.execution, one.ref.id) for one in running] == [("e1", 2), ("e0", 9)]
    assert choose(dead, NAME, "1").ref == before


def test_one_is_chosen_by_its_number_or_as_the_newest(store: CheckpointStore) -> None:
    old, new = saved(store, 3, execution="e0", at=10.0), saved(store, 3, at=20.0)
    other = saved(store, 2, at=15.0)
    found = find_checkpoints(store, NAME)
    assert choose(found, NAME, "").ref == new
    assert choose(found, NAME, "3").ref == new
    assert choose(found, NAME, "e0/3").ref == old
    assert choose(found, NAME, "2").ref == other
    with pytest.raises(UserError) as refused:
        choose(found, NAME, "7")
    assert str(refused.value) == (
        "there is no checkpoint '7' of 'wordcount' (known: 3, 2) (try: heronpy checkpoints wordcount)"
    )
    with pytest.raises(UserError, match=r"^there is no checkpoint of 'nobody' \(try: heronpy chec"):
        choose([], "nobody", "")


def test_a_copy_needs_nothing_of_the_original(store: CheckpointStore) -> None:
    shared = part(store, f"{PREFIX}/6/2-1", b"older", 1, 2)
    own = part(store, f"{PREFIX}/7/3-1", b"newer", 3, whole=True, opaque=True)
    ref = saved(
        store, 7, SavedTask(2, "count", 0, (shared, own)), SavedTask(3, "count", 1, (shared,)), at=50.0
    )
    copy = copy_checkpoint(store, read_manifest(store, ref), store, "another", "f9")
    delete_checkpoints(store, PREFIX, [])
    assert store.names("wordcount/") == []
    manifest = read_manifest(store, copy)
    assert (copy.id, copy.bytes, copy.at) == (7, 10, 50.0)
    assert (manifest.topology, manifest.execution, manifest.run) == ("another", "f9", 0)
    first, second = manifest.tasks
    assert [read_part(store, each) for each in first.parts] == [b"older", b"newer"]
    assert first.parts[0] == second.parts[0]
    assert [(each.groups, each.whole, each.opaque) for each in first.parts] == [
        ((1, 2), False, False),
        ((3,), True, True),
    ]
    assert all(name.startswith("another/f9/7/") for name in store.names(""))


def test_a_damaged_object_is_not_copied(store: CheckpointStore) -> None:
    ref = saved(store, 7)
    store.write(f"{PREFIX}/7/3-1", [b"xyz"])
    with pytest.raises(CheckpointDamaged, match=f"object {PREFIX}/7/3-1 in the checkpoint store is damaged"):
        copy_checkpoint(store, read_manifest(store, ref), store, "another", "f9")
    assert not [name for name in store.names("another/") if name.endswith(("ref", "manifest"))]


def test_of_the_deleted_ones_only_what_others_share_stays(store: CheckpointStore) -> None:
    shared = part(store, f"{PREFIX}/1/2-1", b"older", 1)
    saved(store, 1, SavedTask(2, "count", 0, (shared,)))
    second = saved(store, 2, SavedTask(2, "count", 0, (shared,)))
    part(store, f"{PREFIX}/update-3/2", b"handed over")
    delete_checkpoints(store, PREFIX, [second])
    assert store.names("") == [shared.object, f"{PREFIX}/2/manifest", f"{PREFIX}/2/ref"]
