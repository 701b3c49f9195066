"""Writes the node `checkpoints` again, from the checkpoint store, when a predecessor's cannot be read."""

from __future__ import annotations

import logging
import time

import msgspec

from heronpy.kernel.checkpoints.in_store import InStore, checkpoints_in_store
from heronpy.kernel.checkpoints.node import WentBack
from heronpy.kernel.errors import DamagedNode
from heronpy.kernel.master.background import BackgroundWorker
from heronpy.kernel.master.damaged_nodes.decide import REBUILT, checkpoints_as_stored
from heronpy.kernel.master.fenced_node import Changed
from heronpy.kernel.master.knowledge.roster import named
from heronpy.kernel.master.master_state import MasterState

log = logging.getLogger(__name__)

#: how soon a store that could not be read is asked again
AGAIN = 5.0


class RebuildAct:
    """Before anything else: until then the current run and its checkpoints are unknown."""

    def __init__(self, scene: MasterState, errands: BackgroundWorker) -> None:
        self._scene = scene
        self._errands = errands
        self._looking = False
        self._not_before = 0.0
        self._why = ""

    @property
    def trouble(self) -> str:
        damage = self._scene.unreadable
        return (
            f"{damage.what}; it is rebuilt from the checkpoint store: {self._why}"
            if damage is not None
            else ""
        )

    def look(self, damage: DamagedNode, now: float) -> None:
        """As soon as all tasks have been heard: what they have heard is numbered on from."""
        if self._looking or now < self._not_before:
            return
        scene = self._scene
        absent = scene.roll.absent(scene.plan)
        if absent:
            self._why = f"waiting for {named(absent)}"
            return
        self._looking, self._why = True, "reading it"
        self._errands.run(
            lambda: checkpoints_in_store(scene.store(), scene.prefix),
            lambda outcome: self._found(damage, outcome, now),
        )

    def _found(self, damage: DamagedNode, outcome: InStore | Exception, now: float) -> None:
        self._looking = False
        scene = self._scene
        if isinstance(outcome, Exception):
            self._why, self._not_before = f"it cannot be read: {outcome}", now + AGAIN
            log.error("%s", self.trouble)
            return
        if scene.roll.absent(scene.plan):
            return  # somebody has gone meanwhile: what comes instead has heard less
        node = checkpoints_as_stored(
            outcome,
            scene.plan,
            scene.roll,
            number=scene.written_version(),
            retain=scene.config["checkpoint.retain"],
        )
        newest = node.complete[-1].id if node.complete else 0
        told = WentBack(newest, node.run + 1 if scene.has_runs else 0, time.time(), REBUILT)
        try:
            scene.checkpoints.rebuild(damage, msgspec.structs.replace(node, went_back=(told,)))
        except Changed:
            scene.take_over_checkpoints()  # somebody has put it back meanwhile
            return
        scene.unreadable = None
        scene.mender.tell(damage)
