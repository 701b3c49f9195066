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

    def __init__(self, master_state: MasterState, background: BackgroundWorker) -> None:
        self._master_state = master_state
        self._background = background
        self._looking = False
        self._not_before = 0.0
        self._why = ""

    @property
    def trouble(self) -> str:
        damage = self._master_state.unreadable
        return (
            f"{damage.what}; it is rebuilt from the checkpoint store: {self._why}"
            if damage is not None
            else ""
        )

    def look(self, damage: DamagedNode, now: float) -> None:
        """Begin once all tasks have sent beats: numbering goes on from the numbers that they know."""
        if self._looking or now < self._not_before:
            return
        master_state = self._master_state
        absent = master_state.roster.absent(master_state.plan)
        if absent:
            self._why = f"waiting for {named(absent)}"
            return
        self._looking, self._why = True, "reading it"
        self._background.run(
            lambda: checkpoints_in_store(master_state.store(), master_state.prefix),
            lambda outcome: self._found(damage, outcome, now),
        )

    def _found(self, damage: DamagedNode, outcome: InStore | Exception, now: float) -> None:
        self._looking = False
        master_state = self._master_state
        if isinstance(outcome, Exception):
            self._why, self._not_before = f"it cannot be read: {outcome}", now + AGAIN
            log.error("%s", self.trouble)
            return
        if master_state.roster.absent(master_state.plan):
            return  # a task has ended meanwhile; wait for its successor
        node = checkpoints_as_stored(
            outcome,
            master_state.plan,
            master_state.roster,
            number=master_state.written_version(),
            retain=master_state.config["checkpoint.retain"],
        )
        newest = node.complete[-1].id if node.complete else 0
        told = WentBack(newest, node.run + 1 if master_state.has_runs else 0, time.time(), REBUILT)
        try:
            master_state.checkpoints.rebuild(damage, msgspec.structs.replace(node, went_back=(told,)))
        except Changed:
            master_state.take_over_checkpoints()  # the node was repaired meanwhile
            return
        master_state.unreadable = None
        master_state.mender.tell(damage)
