"""The hot loop: read a prefix, pick the exit, hand the very same bytes on."""

from __future__ import annotations

import logging

from heronpy.kernel.addresses import incarnation_of, peer_name
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.frame import route
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.sparing import Sparing
from heronpy.kernel.transport import Reactor, Router, Timer
from heronpy.stream_manager.exits import Exit, InstanceDoor

log = logging.getLogger(__name__)

#: frames moved per socket and turn, so that control is never kept waiting
FRAMES_PER_TURN = 64
#: how soon a full or missing exit is tried again
RETRY = 0.002


class Forwarder:
    """Moves frames between the instances of a container and the other containers."""

    def __init__(self, reactor: Reactor, instances: Router, peers: Router, container: int) -> None:
        self._reactor = reactor
        self._instances = instances
        self._peers = peers
        self._container = container
        #: by task id; tasks of one other container share an exit
        self._exits: dict[int, Exit] = {}
        self._by_container: dict[int, Exit] = {}
        #: newest incarnation of each task of ours: older ones have been replaced
        self._newest: dict[int, int] = {}
        self._complaints = Sparing(log)
        self._held: set[Exit] = set()
        self._retry: Timer | None = None
        self.frames = 0
        self.bytes = 0
        self.rejected = 0
        reactor.register(instances, self._serve_instances)
        reactor.register(peers, self._serve_peers)

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Route by this plan from now on; queues of tasks that stay are kept."""
        for task in plan.tasks:
            if task.container == self._container:
                self._exits.setdefault(task.id, Exit())
            else:
                self._exits[task.id] = self.exit_to(task.container)

    def exit_to(self, container: int) -> Exit:
        return self._by_container.setdefault(container, Exit())

    def admit(self, task: int, incarnation: int, identity: bytes) -> None:
        """An instance has registered: its frames count, those of the ones before it do not."""
        self._newest[task] = incarnation
        out = self._exits.get(task)
        if out is not None:
            out.door = InstanceDoor(self._instances, identity)
            out.retry()

    @property
    def backlog(self) -> int:
        return sum(len(held) for held in self._held)

    @property
    def dropped(self) -> int:
        return sum(exit_.dropped for exit_ in {*self._exits.values()})

    def _serve_instances(self) -> None:
        for _ in range(FRAMES_PER_TURN):
            parts = self._instances.receive()
            if parts is None:
                return
            if self._is_replaced(parts[0]):
                self._reject(parts[0], "it has been replaced")
            else:
                self._forward(parts)

    def _serve_peers(self) -> None:
        for _ in range(FRAMES_PER_TURN):
            parts = self._peers.receive()
            if parts is None:
                return
            self._forward(parts)

    def _is_replaced(self, identity: bytes) -> bool:
        try:
            task, incarnation = incarnation_of(identity)
        except ValueError:
            return False  # nobody of ours, so what it sends is judged by itself
        return incarnation < self._newest.get(task, 0)

    def _forward(self, parts: list[bytes]) -> None:
        try:
            identity, prefix, payload = parts
            destination, _ = route(prefix)
        except (ValueError, ProtocolError) as error:
            self._reject(parts[0], str(error))
            return
        out = self._exits.get(destination)
        if out is None:
            self._reject(identity, f"no task {destination} in the plan")
            return
        self.frames += 1
        self.bytes += len(payload)
        if not out.send(prefix, payload):
            self._hold(out)

    def _hold(self, out: Exit) -> None:
        self._held.add(out)
        if self._retry is None:
            self._retry = self._reactor.call_later(RETRY, self._retry_held)

    def _retry_held(self) -> None:
        self._retry = None
        self._held = {out for out in self._held if not out.retry()}
        if self._held:
            self._retry = self._reactor.call_later(RETRY, self._retry_held)

    def _reject(self, identity: bytes, reason: str) -> None:
        self.rejected += 1
        self._complaints.warning("dropped a frame from %s: %s", peer_name(identity), reason)
