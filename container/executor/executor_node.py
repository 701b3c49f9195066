"""The executor's node in the state tree: its incarnation, and the state of its children."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time

from heronpy.kernel.errors import DamagedNode, NodeExists, NodeMissing, VersionConflict
from heronpy.kernel.formats import NODE
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.mending import mend
from heronpy.kernel.tree.paths import ChildView, ExecutorNode, Tree
from heronpy.kernel.tree.registrations import read_version

log = logging.getLogger(__name__)


class ExecutorRecord:
    """Ownership of the node: every write is a compare-and-set against this executor's last write.

    VersionConflict means that another executor owns the container, NodeMissing that the topology is gone.
    """

    def __init__(self, state: StateManager, topology: str, container: int) -> None:
        self._state = state
        self.path = Tree(topology).executor(container)
        self._token = secrets.token_hex(8)
        self._written: dict[str, ChildView] | None = None
        self.incarnation, self._version = self._take_over()

    def publish(self, children: dict[str, ChildView]) -> bool:
        """Write the node if its value has changed; returns whether it has."""
        if children == self._written:
            return False
        self._written = None  # if the write fails, the value in the tree is unknown
        self._write(self._node(self.incarnation, os.getpid(), children))
        self._written = children
        return True

    def is_ours(self) -> bool:
        """False when another executor owns the container, or the topology is gone."""
        try:
            self._reread()
        except (VersionConflict, NodeMissing):
            return False
        return True

    def retire(self) -> None:
        """Mark this executor as ended. The node stays because the next executor needs the incarnation."""
        self._write(self._node(self.incarnation, 0, {}))

    def _write(self, node: ExecutorNode) -> None:
        value = NODE.encode(node)
        try:
            self._version = self._state.set(self.path, value, version=self._version)
        except DamagedNode as damage:
            self._mend(damage, node)
        except VersionConflict:
            # a write may have succeeded although its confirmation was lost
            self._reread()
            self._version = self._state.set(self.path, value, version=self._version)

    def _reread(self) -> None:
        try:
            found = read_version(self._state, self.path, ExecutorNode)
        except DamagedNode as damage:
            self._mend(damage, self._node(self.incarnation, os.getpid(), self._written or {}))
            self._written = None
            return
        if found is None:
            msg = f"there is no node {self.path}"
            raise NodeMissing(msg)
        if found[0].token != self._token:
            msg = f"{self.path} is another executor's"
            raise VersionConflict(msg)
        self._version = found[1]

    def _mend(self, damage: DamagedNode, node: ExecutorNode) -> None:
        """The node belongs to this executor until a successor writes its own, which would be readable."""
        log.error("%s; it is written again", damage)
        self._version = mend(self._state, damage, NODE.encode(node))

    def _node(self, incarnation: int, pid: int, children: dict[str, ChildView]) -> ExecutorNode:
        return ExecutorNode(incarnation, pid, children, self._token)

    def _take_over(self) -> tuple[int, int]:
        while True:
            try:
                found = read_version(self._state, self.path, ExecutorNode)
                past = found[0].incarnation if found is not None else 0
                ours = NODE.encode(self._node(past + 1, os.getpid(), {}))
                if found is None:
                    return 1, self._state.create(self.path, ours)
                return past + 1, self._state.set(self.path, ours, version=found[1])
            except DamagedNode as damage:
                self._begin_beyond(damage)
            except (NodeExists, NodeMissing, VersionConflict):
                continue

    def _begin_beyond(self, damage: DamagedNode) -> None:
        """Executors do not start once a second for long, so the clock exceeds all earlier incarnations."""
        log.error("%s; incarnations continue above all that can have been used", damage)
        with contextlib.suppress(VersionConflict):
            mend(self._state, damage, NODE.encode(self._node(int(time.time()), 0, {})))
