"""Declares a topology FINISHED: in the node `live`, so that it stays so whichever process starts again."""

from __future__ import annotations

import logging

import msgspec

from heronpy.kernel.master.finishing.decide import ending_of
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.protocol.ending import Ending
from heronpy.kernel.tree.live_node import change_live
from heronpy.kernel.tree.paths import FINISHED

log = logging.getLogger(__name__)


class FinishAct:
    """Once in the life of a topology, if at all."""

    def __init__(self, master_state: MasterState) -> None:
        self._master_state = master_state
        self._over = False

    @property
    def needs_checkpoint(self) -> bool:
        """Whether everything has been processed, and a checkpoint is all that commits wait for."""
        return ending_of(self._master_state.plan, self._master_state.roster) is Ending.PROCESSED

    def look(self) -> None:
        master_state = self._master_state
        if self._over or ending_of(master_state.plan, master_state.roster) is not Ending.COMMITTED:
            return
        live = master_state.live()
        if live is None or live.state != FINISHED:
            change_live(
                master_state.state,
                master_state.plan.topology,
                lambda live: msgspec.structs.replace(live, state=FINISHED),
            )
            log.info("%s is FINISHED: all input has ended and has been processed", master_state.plan.topology)
        self._over = True
