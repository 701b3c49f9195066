"""The executor's node in the state tree: its incarnation, and how its children are."""

from __future__ import annotations

import os
import secrets

import msgspec

from heronpy.kernel.errors import NodeExists, NodeMissing, VersionConflict
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree import ChildView, ExecutorNode, Tree


class ExecutorRecord:
    """Our hold on the node: every write is a compare-and-set on top of our own last one.

    VersionConflict says that another executor took our place, NodeMissing that the topology is gone.
    """

    def __init__(self, state: StateManager, topology: str, container: int) -> None:
        self._state = state
        self.path = Tree(topology).executor(container)
        self._token = secrets.token_hex(8)
        self.incarnation, self._version = self._take_over()
        self._written: dict[str, ChildView] | None = None

    def publish(self, children: dict[str, ChildView]) -> bool:
        """Write if there is news; says whether there was."""
        if children == self._written:
            return False
        self._written = None  # if it fails, nobody knows what is there
        self._write(self._node(self.incarnation, os.getpid(), children))
        self._written = children
        return True

    def is_ours(self) -> bool:
        """False when another executor took our place, or the topology is gone."""
        try:
            self._reread()
        except (VersionConflict, NodeMissing):
            return False
        return True

    def retire(self) -> None:
        """Say that we ended. The node stays because the next executor needs the incarnation."""
        self._write(self._node(self.incarnation, 0, {}))

    def _write(self, node: ExecutorNode) -> None:
        value = msgspec.json.encode(node)
        try:
            self._version = self._state.set(self.path, value, version=self._version)
        except VersionConflict:
            # a write of ours may have been carried out although the state tree could not say so
            self._reread()
            self._version = self._state.set(self.path, value, version=self._version)

    def _reread(self) -> None:
        node = self._state.get(self.path)
        if msgspec.json.decode(node.value, type=ExecutorNode).token != self._token:
            msg = f"{self.path} is another executor's"
            raise VersionConflict(msg)
        self._version = node.version

    def _node(self, incarnation: int, pid: int, children: dict[str, ChildView]) -> ExecutorNode:
        return ExecutorNode(incarnation, pid, children, self._token)

    def _take_over(self) -> tuple[int, int]:
        while True:
            try:
                node = self._state.get(self.path)
                past = msgspec.json.decode(node.value, type=ExecutorNode).incarnation
                ours = msgspec.json.encode(self._node(past + 1, os.getpid(), {}))
                return past + 1, self._state.set(self.path, ours, version=node.version)
            except NodeMissing:
                ours = msgspec.json.encode(self._node(1, os.getpid(), {}))
                try:
                    return 1, self._state.create(self.path, ours)
                except NodeExists:
                    continue
            except VersionConflict:
                continue
