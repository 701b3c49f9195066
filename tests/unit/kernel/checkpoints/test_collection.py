"""Old objects are collected, and nothing that anybody may still need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.tasks.saving import PREFIX, part, saved

from heronpy.kernel.checkpoints.collection import collect, garbage, needed
from heronpy.kernel.checkpoints.manifest import Manifest, SavedTask, read_manifest
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, own_prefix, update_prefix
from heronpy.kernel.checkpoints.stored import CheckpointRef, StoredPart
from heronpy.kernel.plugin import CheckpointStore

NUMBERS = st.integers(1, 9)
FILES = st.sampled_from(["2-1", "2-2", "3-1", "manifest", "ref"])
CHECKPOINT_OBJECTS = st.builds(
    lambda number, file: f"{checkpoint_prefix(PREFIX, number)}/{file}", NUMBERS, FILES
)
UPDATE_OBJECTS = st.builds(lambda epoch, file: f"{update_prefix(PREFIX, epoch)}/{file}", NUMBERS, FILES)
STRANGE = st.sampled_from(
    ["wordcount/e2/1/2-1", "wordcount/e11/1/2-1", "other/e1/1/2-1", f"{PREFIX}/notes", f"{PREFIX}/x/1", "1/2"]
)
OBJECTS = st.lists(CHECKPOINT_OBJECTS | UPDATE_OBJECTS | STRANGE, unique=True, max_size=30)


def manifest_of(number: int, objects: list[str]) -> tuple[CheckpointRef, Manifest]:
    parts = tuple(StoredPart(name, "", 1) for name in objects)
    task = SavedTask(2, "count", 0, parts)
    manifest = Manifest(topology="wordcount", execution="e1", id=number, key_groups=1, tasks=(task,))
    return CheckpointRef(number, f"{checkpoint_prefix(PREFIX, number)}/manifest", ""), manifest


@given(data=st.data(), names=OBJECTS, newest=st.integers(0, 9), over=st.integers(0, 9))
def test_exactly_what_nobody_can_need_goes(
    data: st.DataObject, names: list[str], newest: int, over: int
) -> None:
    named = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    kept = [manifest_of(newest, named)] if newest else []
    keep = needed(kept)
    gone = garbage(names, PREFIX, keep, newest=newest, updates_over=over)
    assert set(gone) <= set(names)
    assert not set(gone) & keep, "a kept manifest names it"
    for name in set(names) - keep:
        section = name.removeprefix(f"{PREFIX}/").split("/")[0] if name.startswith(f"{PREFIX}/") else ""
        old_checkpoint = section.isdigit() and int(section) <= newest
        old_update = section.startswith("update-") and int(section.removeprefix("update-")) <= over
        assert (name in gone) == (old_checkpoint or old_update), name


@given(names=OBJECTS, newest=st.integers(0, 9))
def test_what_a_newer_unfinished_checkpoint_wrote_stays(names: list[str], newest: int) -> None:
    gone = garbage(names, PREFIX, set(), newest=newest, updates_over=9)
    later = [f"{PREFIX}/{number}/" for number in range(newest + 1, 10)]
    assert not [name for name in gone if name.startswith(tuple(later))]


@given(names=OBJECTS, newest=st.integers(0, 9), over=st.integers(0, 9))
def test_nothing_of_others_goes(names: list[str], newest: int, over: int) -> None:
    gone = garbage(names, PREFIX, set(), newest=newest, updates_over=over)
    assert all(name.startswith(f"{PREFIX}/") for name in gone)


def test_what_later_checkpoints_still_name_stays(store: CheckpointStore) -> None:
    """count[0] changed nothing after checkpoint 1, so checkpoint 3 is half made of its object."""
    old = part(store, f"{PREFIX}/1/2-1", b"abc", 1)
    first = saved(store, 1, SavedTask(2, "count", 0, (old,)))
    saved(store, 2)
    new = part(store, f"{PREFIX}/3/3-1", b"def", 2)
    third = saved(store, 3, SavedTask(2, "count", 0, (old,)), SavedTask(3, "count", 1, (new,)))
    part(store, f"{PREFIX}/4/2-1", b"of a checkpoint that is on its way")
    part(store, f"{update_prefix(PREFIX, 2)}/2", b"of an update that is over")
    part(store, f"{update_prefix(PREFIX, 3)}/2", b"of one that is not")
    saved(store, 1, execution="e2")
    others = store.names(own_prefix("wordcount", "e2"))
    gone = collect(store, PREFIX, [(third, read_manifest(store, third))], newest=3, updates_over=2)
    assert store.names("") == sorted(
        [
            old.object,
            *(f"{PREFIX}/3/{file}" for file in ("3-1", "manifest", "ref")),
            f"{PREFIX}/4/2-1",
            f"{update_prefix(PREFIX, 3)}/2",
            *others,
        ]
    )
    assert first.manifest in gone
    assert all(name.endswith(("/manifest", "/ref")) for name in gone[:4]), "found by nobody, then gone"
    assert collect(store, PREFIX, [(third, read_manifest(store, third))], newest=3, updates_over=2) == []
