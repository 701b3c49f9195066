"""Damaged nodes of the state tree are written again by a process that holds what was in them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from heronpy.kernel.errors import DamagedNode, StateError, VersionConflict
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.transport import Reactor
from heronpy.kernel.tree.paths import Registration
from heronpy.kernel.tree.registrations import read, register, stay_registered

log = logging.getLogger(__name__)

#: seconds between two checks: disks do not report what they have damaged
MEND_EVERY: Final = 3.0

#: how many mended nodes `status` shows
TOLD: Final = 5


def mend(state: StateManager, damage: DamagedNode, value: bytes) -> int:
    """Replace what is damaged, and return the version; VersionConflict if something else is there by now."""
    if damage.version is None:
        return state.repair(damage.path, value)
    return state.set(damage.path, value, version=damage.version)


def keep_registered(
    state: StateManager,
    reactor: Reactor,
    path: str,
    registration: Registration,
    on_replaced: Callable[[], None],
) -> bool:
    """Publish this process, and again whenever the node is damaged.

    If a successor is registered already: calls `on_replaced` and returns False.
    """
    if not register(state, path, registration):
        on_replaced()
        return False

    def look() -> None:
        try:
            if not stay_registered(state, path, registration):
                on_replaced()
        except StateError as error:
            log.warning("could not look for damage: %s", error)

    reactor.call_every(MEND_EVERY, look)
    return True


class _Held(NamedTuple):
    kind: Any
    #: returns empty bytes if the value is not known
    value: Callable[[], bytes]


class Mender:
    """What one process holds of the state tree's truth, and may write again where that is damaged.

    Only what cannot have changed since it was read may be held: a node that never changes, or that this
    process alone writes. An older value in place of a newer one would be worse than a damaged one.
    """

    def __init__(self, state: StateManager) -> None:
        self._state = state
        self._held: dict[str, _Held] = {}
        #: the newest ones that were damaged and are whole again, a sentence each
        self.mended: tuple[str, ...] = ()

    def hold(self, path: str, kind: Any, value: Callable[[], bytes]) -> None:
        """`value` gives the bytes as they should be there now; empty for bytes that are not known."""
        self._held[path] = _Held(kind, value)

    def look(self) -> None:
        """Read all that is held, and mend what is damaged; what the state tree refuses, at the next look."""
        for path, held in self._held.items():
            with contextlib.suppress(VersionConflict, StateError):
                self.check(path, held.kind, held.value)

    def check(self, path: str, kind: Any, value: Callable[[], bytes]) -> None:
        try:
            read(self._state, path, kind)
        except DamagedNode as damage:
            data = value()
            if data:
                mend(self._state, damage, data)
                self.tell(damage)

    def tell(self, damage: DamagedNode) -> None:
        """Report a mended node, in the log and in `status`; only the log outlives this process."""
        line = f"the node {damage.path} of the state tree was damaged ({damage.why}) and was written again"
        log.error("%s", line)
        self.mended = (*self.mended, line)[-TOLD:]
