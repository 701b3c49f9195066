"""The containers of a topology, as the Topology Master follows them: which may connect, which are lost."""

from __future__ import annotations

import contextlib
import logging
import time

from heronpy.kernel.errors import DamagedNode, StateError
from heronpy.kernel.machine.addresses import STREAM_MANAGER, manager_name
from heronpy.kernel.master.knowledge.board import Board
from heronpy.kernel.master.knowledge.missing_containers import MissingContainers
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.tree.paths import ExecutorNode, Registration
from heronpy.kernel.tree.registrations import NodeFollower, given_up, read
from heronpy.kernel.tree.requests import request_replacement, withdraw_replacement

log = logging.getLogger(__name__)


class Containers:
    """The containers of the plan in force, and of the next one."""

    def __init__(self, master_state: MasterState, board: Board, follower: NodeFollower, lost: float) -> None:
        self._master_state = master_state
        self._board = board
        self._follower = follower
        self._lost = MissingContainers(master_state.plan.containers(), lost)
        self._board.asked = self._lost.asked
        #: by container: the incarnation of its executor, and restarts of its Stream Manager
        self._starts: dict[int, tuple[int, int]] = {}
        #: path → the registration that was last there
        self._known: dict[str, Registration] = {}
        #: reachable again, while the request to replace them may still be in the state tree
        self._unwanted: set[int] = set()
        #: seconds between two checks for lost containers
        self.interval = self._lost.interval

    def follow(self) -> None:
        """The plan has changed, or there is a next one."""
        # A container of the next plan alone is not replaced: the update waits for it, and rolls back.
        self._lost.expect(self._master_state.plan.containers())
        tree = self._master_state.tree
        for container in self._master_state.containers():
            self._follower.follow(
                tree.stream_manager(container),
                tree.metrics_manager(container),
                tree.executor(container),
                tree.given_up(container),
            )

    def keys(self) -> list[str]:
        """Public keys of the managers that may connect; also of leaving ones, until they have ended."""
        tree = self._master_state.tree
        registered = {int(name) for name in self._master_state.state.children(tree.containers)}
        return [
            registration.public_key
            for container in sorted(registered.union(self._master_state.containers()))
            for path in (tree.stream_manager(container), tree.metrics_manager(container))
            if (registration := self._registered(path)) is not None
        ]

    def _registered(self, path: str) -> Registration | None:
        """The registration as last read while the node is damaged: its owner writes it again."""
        try:
            found = read(self._master_state.state, path, Registration)
        except DamagedNode as damage:
            log.warning("%s", damage)
            return self._known.get(path)
        if found is not None:
            self._known[path] = found
        return found

    def refresh(self) -> None:
        """Read what the executors publish about their children, and which containers were given up."""
        executors = {
            container: executor
            for container in self._master_state.containers()
            if (executor := self._executor(container))
        }
        for container, executor in executors.items():
            self._note_starts(container, executor)
        self._master_state.roster.executors = executors
        self._board.children = {
            name: child for executor in executors.values() for name, child in executor.children.items()
        }
        self._board.given_up = self._given_up()

    def _executor(self, container: int) -> ExecutorNode | None:
        """As last read while it is damaged: damage does not mean that a process has ended or started."""
        try:
            return read(self._master_state.state, self._master_state.tree.executor(container), ExecutorNode)
        except DamagedNode as damage:
            log.warning("%s", damage)
            return self._master_state.roster.executors.get(container)

    def on_heard(self, container: int) -> None:
        if self._lost.on_heard(container):
            self._unwanted.add(container)
        if self._unwanted:
            self._withdraw()

    def look_for_lost(self) -> None:
        for container, why in self._lost.look(time.monotonic(), self._hopeless()).items():
            log.warning("container %d: %s, asking for another", container, why)
            try:
                request_replacement(
                    self._master_state.state, self._master_state.plan.topology, container, why
                )
            except StateError as error:
                log.warning("the scheduler could not be asked: %s", error)

    def _withdraw(self) -> None:
        for container in sorted(self._unwanted - set(self._lost.asked)):
            # what cannot be withdrawn now is tried again with the next beat
            with contextlib.suppress(StateError):
                withdraw_replacement(self._master_state.state, self._master_state.plan.topology, container)
                self._unwanted.discard(container)
        self._unwanted -= set(self._lost.asked)

    def _note_starts(self, container: int, executor: ExecutorNode) -> None:
        """A container that is new, or whose Stream Manager keeps restarting, is not lost."""
        manager = executor.children.get(manager_name(STREAM_MANAGER, container))
        starts = executor.incarnation, manager.restarts if manager is not None else 0
        if self._starts.get(container) != starts:
            self._starts[container] = starts
            self._lost.on_started(container)

    def _given_up(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for container in self._master_state.plan.containers():
            how = given_up(self._master_state.state, self._master_state.tree, container)
            if how is not None:
                found[container] = how
        return found

    def _hopeless(self) -> set[int]:
        """Containers that were given up, or whose Stream Manager was."""
        managers = {
            container: self._board.children.get(manager_name(STREAM_MANAGER, container))
            for container in self._master_state.plan.containers()
        }
        given_up = {
            each for each, child in managers.items() if child is not None and child.state == "given_up"
        }
        return given_up | set(self._board.given_up)
