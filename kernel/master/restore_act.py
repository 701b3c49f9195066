"""Effectively once: begins runs, each with the newest complete checkpoint that can be read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.errors import CheckpointDamaged
from heronpy.kernel.master.errands import Errands
from heronpy.kernel.master.restoring import NextRun, Restoring
from heronpy.kernel.master.scene import Scene
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.steps import step

log = logging.getLogger(__name__)

#: how soon a store that had nothing readable is asked again
AGAIN = 5.0


class Found(NamedTuple):
    """A checkpoint that can be read, if any, and why better ones cannot."""

    base: CheckpointRef | None
    damaged: dict[int, str]


class RestoreAct:
    """At most one at a time, and before anything else."""

    def __init__(self, scene: Scene, errands: Errands, hear_executors: Callable[[], None]) -> None:
        self._scene = scene
        self._errands = errands
        self._hear_executors = hear_executors
        self._because = ""
        self._deciding = Restoring()
        self._looking = False
        self._not_before = 0.0
        #: why there is no run although everybody is there
        self.trouble = ""
        #: what was wrong with newer checkpoints than the one that this run began with
        self.fell_back = ""

    def why(self) -> str:
        """Why another run must begin; empty for the one that is on."""
        scene = self._scene
        if not scene.has_runs:
            return ""
        self._deciding.watch(scene.node, scene.plan, scene.roll)
        because = self._deciding.why(scene.node, scene.plan, scene.roll)
        if because and because != self._because:
            # Whose end is behind it has been written, but the watch may not have told us yet.
            self._hear_executors()
            because = self._deciding.why(scene.node, scene.plan, scene.roll)
        self._because = because
        return because

    def waits_for(self) -> list[str]:
        return self._scene.roll.absent(self._scene.plan)

    def look(self, because: str, now: float) -> None:
        """Begin a run as soon as everybody is there."""
        scene = self._scene
        if self._looking or now < self._not_before:
            return
        following = self._deciding.next_run(scene.node, scene.plan, scene.roll, because)
        if following is None:
            return
        self._looking = True
        step("restore.everybody_there")
        self._errands.run(
            lambda: _readable(scene.store, following), lambda outcome: self._found(following, outcome, now)
        )

    def _found(self, following: NextRun, outcome: Found | Exception, now: float) -> None:
        self._looking = False
        if isinstance(outcome, Exception):
            self._stand_still(f"the checkpoint store cannot be read: {outcome}", now)
            return
        for checkpoint, why in outcome.damaged.items():
            log.error("checkpoint %d cannot be restored: %s", checkpoint, why)
        if following.bases and outcome.base is None:
            # To begin from nothing would repeat all that was ever done: that is for a person to decide.
            self._stand_still(f"no checkpoint can be read: {next(iter(outcome.damaged.values()))}", now)
            return
        scene = self._scene
        if self._deciding.next_run(scene.node, scene.plan, scene.roll, following.because) != following:
            return  # somebody else has gone or come meanwhile
        self.trouble = ""
        if outcome.base is not None and outcome.damaged:
            damages = "; ".join(f"checkpoint {which}: {why}" for which, why in outcome.damaged.items())
            self.fell_back = f"went back to checkpoint {outcome.base.id}: {damages}"
        self._begin(following, outcome)

    def _begin(self, following: NextRun, found: Found) -> None:
        node = self._scene.node
        step("restore.run.writing")
        self._scene.checkpoints.write(
            msgspec.structs.replace(
                node,
                run=following.run,
                epoch=self._scene.plan.epoch,
                base=found.base,
                because=following.because if node.run else "",
                begun_at=time.time(),
                members=following.members,
                managers=following.managers,
                # whatever is still on its way for a checkpoint is of an earlier run
                aborted=node.started,
                complete=tuple(ref for ref in node.complete if ref.id not in found.damaged),
            )
        )
        step("restore.run.written")
        source = f"checkpoint {found.base.id}" if found.base is not None else "the beginning"
        log.info("run %d begins from %s: %s", following.run, source, following.because)

    def _stand_still(self, why: str, now: float) -> None:
        if why != self.trouble:
            log.error("the topology cannot go on: %s", why)
        self.trouble, self._not_before = why, now + AGAIN


def _readable(open_store: Callable[[], CheckpointStore], following: NextRun) -> Found:
    damaged: dict[int, str] = {}
    for ref in following.bases:
        try:
            store = open_store()
            manifest = read_manifest(store, ref)
            if following.suspicious:
                for part in manifest.parts().values():
                    read_part(store, part)
        except CheckpointDamaged as error:
            damaged[ref.id] = str(error)
        else:
            return Found(ref, damaged)
    return Found(None, damaged)
