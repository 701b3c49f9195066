"""submit --from: the checkpoint that a new topology begins with."""

from __future__ import annotations

from typing import NamedTuple

from heronpy.cli.reading.found_checkpoints import open_store, saved_of, split_label
from heronpy.cli.views.output import size
from heronpy.kernel.checkpoints.compatibility import check_compatible, dropped, without
from heronpy.kernel.checkpoints.copying import copy_checkpoint
from heronpy.kernel.checkpoints.lookup import Found, choose
from heronpy.kernel.checkpoints.manifest import Manifest, read_manifest
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config
from heronpy.kernel.errors import CheckpointDamaged, UserError, close_to
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin import CheckpointStore, StateManager
from heronpy.kernel.plugin.opening import open_checkpoint_store


class StartingCheckpoint(NamedTuple):
    """A checkpoint that exists and fits."""

    found: Found
    #: of what is taken over
    manifest: Manifest
    #: components whose state is not
    left: tuple[str, ...] = ()

    def copy(self, config: Config, topology: str, execution: str) -> CheckpointRef:
        """Make it the new topology's own, comparing every object with its checksum."""
        target = open_checkpoint_store(config)
        try:
            with open_store(config, self.found.topology) as source:
                return copy_checkpoint(source, self.manifest, target, topology, execution)
        finally:
            target.close()

    def described(self, plan: LogicalPlan) -> str:
        """checkpoint wordcount@7 (41.2 MB; count 2 → 4)."""
        now = plan.parallelism()
        notes = [size(self.found.ref.bytes)]
        for name, before in self.manifest.parallelism().items():
            if now.get(name, before) != before:
                notes.append(f"{name} {before} → {now[name]}")
        notes += [f"state of {name} is left behind" for name in self.left]
        return f"checkpoint {self.found.label} ({'; '.join(notes)})"


def find_base(
    config: Config, state: StateManager, label: str, plan: LogicalPlan, *, drop: bool
) -> StartingCheckpoint:
    """The checkpoint that NAME or NAME@ID means. A UserError if there is none, or if it does not fit."""
    name, wanted = split_label(label)
    with open_store(config, name) as store:
        saved = saved_of(state, store, name).found
        if not saved and (meant := close_to(name, {each.partition("/")[0] for each in store.names("")})):
            msg = f"there is no checkpoint of {name!r}; did you mean {meant!r}?"
            raise UserError(msg, hint=f"heronpy checkpoints {meant}")
        found = choose(saved, name, wanted)
        manifest = read_manifest(store, found.ref)
        check_compatible(found.label, manifest, plan, drop=drop)
        left = dropped(manifest, plan)
        taken = without(manifest, left)
        _check_whole(store, found.label, taken)
    return StartingCheckpoint(found, taken, tuple(left))


def _check_whole(store: CheckpointStore, label: str, manifest: Manifest) -> None:
    """Raise if an object is missing; checksums are compared when the objects are copied."""
    folders = {name.rpartition("/")[0] for name in manifest.parts()}
    there = {name for folder in folders for name in store.names(f"{folder}/")}
    missing = sorted(set(manifest.parts()) - there)
    if missing:
        msg = f"checkpoint {label} is not whole: object {missing[0]} is missing from the checkpoint store"
        raise CheckpointDamaged(msg, hint="use another checkpoint")
