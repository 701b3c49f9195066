"""The hot loop: read a prefix, pick the exit, hand the very same bytes on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.frame import has_tuples, route
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import incarnation_of, peer_name
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.transport import Reactor, Router, Timer
from heronpy.stream_manager.exits import Exit, InstanceExit, PeerExit, ToPeer
from heronpy.stream_manager.inbound import Inbound

log = logging.getLogger(__name__)

#: frames moved per socket and turn, so that control is never kept waiting
FRAMES_PER_TURN = 64
#: back-off of a full or missing exit: first and longest pause, doubled while nothing moves
RETRY_MIN, RETRY_MAX = 0.002, 0.05
#: how often links with unconfirmed frames are checked
LOOK = 0.05


class Forwarder:
    """Moves frames between the instances of a container and the other containers."""

    def __init__(
        self,
        reactor: Reactor,
        instances: Router,
        peers: Router,
        container: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reactor = reactor
        self._instances = instances
        self._peers = peers
        self._container = container
        self._clock = clock
        #: by task id; tasks of one other container share an exit
        self._exits: dict[int, Exit] = {}
        self._local: dict[int, InstanceExit] = {}
        self._by_container: dict[int, PeerExit] = {}
        #: of containers that have left the plan: if the same process comes back, its numbering goes on
        self._parked: dict[int, PeerExit] = {}
        self._inbound = Inbound()
        #: slots of this container that the plans have
        self._slots: set[int] = set()
        #: newest incarnation in each slot: older processes have been replaced, with all their tasks
        self._newest: dict[int, int] = {}
        #: tasks that left with the last change of plan: their neighbours may not know yet
        self._gone: set[int] = set()
        #: highest task id of any plan so far: higher ones are of a plan that other processes read earlier
        self._highest = 0
        self._complaints = RateLimitedLog(log)
        self._held: set[Exit] = set()
        #: frames dropped by exits that are closed
        self._dropped_before = 0
        self._retry: Timer | None = None
        self._retry_after = RETRY_MIN
        self._look: Timer | None = None
        self.frames = 0
        self.bytes = 0
        self.rejected = 0
        reactor.register(instances, self._serve_instances)
        reactor.register(peers, self._serve_peers)

    def use_plan(self, *plans: PhysicalPlan) -> None:
        """Route by these plans from now on, several while one takes over from another.

        Queues of tasks and containers that stay are kept; what waits for those that are gone is dropped.
        """
        tasks = {task.id: task.container for plan in plans for task in plan.tasks}
        ours = (task for plan in plans for task in plan.tasks if task.container == self._container)
        slots = {task.slot for task in ours}
        containers = set(tasks.values())
        self._highest = max((self._highest, *tasks))
        for container in self._by_container.keys() - containers:
            out = self._by_container.pop(container)
            self._close(out)
            out.park()
            self._parked[container] = out
        leaving = self._exits.keys() - tasks.keys()
        self._gone = (leaving or self._gone) - tasks.keys()
        for task in leaving:
            del self._exits[task]
            if task in self._local:
                self._close(self._local.pop(task))
        for slot in self._slots - slots:
            self._newest.pop(slot, None)
        self._slots = slots
        for task, container in tasks.items():
            if container == self._container:
                self._exits[task] = self._local.setdefault(task, InstanceExit(self._instances))
            else:
                self._exits[task] = self._exit_to(container)

    def forget(self, container: int) -> None:
        """A container that had left the plan has ended."""
        self._parked.pop(container, None)
        self._inbound.forget(container)

    def _close(self, out: Exit) -> None:
        # Frames of the credit protocol are of no use without both ends; only lost tuples are counted.
        self._dropped_before += out.dropped + sum(map(has_tuples, out.waiting()))
        self._held.discard(out)

    def admit(self, slot: int, incarnation: int, identity: bytes, tasks: Iterable[int]) -> None:
        """A process has registered with its tasks: frames of its predecessors are rejected from now on."""
        self._newest[slot] = incarnation
        for task in tasks:
            out = self._local.get(task)
            if out is not None:
                out.admit(identity)
                self._try(out)

    def connect(self, container: int, incarnation: int, peer: ToPeer, key: str = "") -> None:
        """Another container's Stream Manager has registered; frames of its predecessors are rejected."""
        self._inbound.fence(container, incarnation, key)
        out = self._exit_to(container)
        unconfirmed = out.connect(peer, incarnation, key)
        if unconfirmed:
            log.warning("container %d was replaced with %d frames on their way to it", container, unconfirmed)
        self._try(out)

    def on_replies(self, container: int) -> None:
        """Read what another Stream Manager has confirmed."""
        out = self._exit_to(container)
        try:
            out.on_replies()
        except ProtocolError as error:
            self._reject(f"container {container}", str(error))
        self._try(out)

    @property
    def backlog(self) -> int:
        return sum(len(held) for held in self._held)

    @property
    def unconfirmed(self) -> int:
        """Frames that other containers have been sent and not confirmed."""
        return sum(out.unconfirmed for out in self._by_container.values())

    @property
    def resent(self) -> int:
        return sum(out.resent for out in self._by_container.values())

    @property
    def repeated(self) -> int:
        return self._inbound.repeated

    @property
    def dropped(self) -> int:
        return self._dropped_before + sum(out.dropped for out in {*self._exits.values()})

    def _serve_instances(self) -> None:
        for _ in range(FRAMES_PER_TURN):
            parts = self._instances.receive()
            if parts is None:
                return
            if self._is_replaced(parts[0]):
                self._reject(peer_name(parts[0]), "it has been replaced")
            else:
                self._forward(parts)

    def _serve_peers(self) -> None:
        for _ in range(FRAMES_PER_TURN):
            parts = self._peers.receive()
            if parts is None:
                break
            identity, head, *frame = parts if len(parts) > 1 else (*parts, b"")
            try:
                accepted = self._inbound.accept(identity, head)
            except ProtocolError as error:
                self._reject(peer_name(identity), str(error))
                continue
            if accepted:
                self._forward([identity, *frame])
        for identity, reply in self._inbound.replies():
            self._peers.send(identity, reply)  # a lost reply is asked for again with SYNC

    def _is_replaced(self, identity: bytes) -> bool:
        try:
            slot, incarnation = incarnation_of(identity)
        except ValueError:
            return False  # not an instance; each of its frames is checked by itself
        return incarnation < self._newest.get(slot, 0)

    def _forward(self, parts: list[bytes]) -> None:
        try:
            identity, prefix, payload = parts
            destination, _ = route(prefix)
        except (ValueError, ProtocolError) as error:
            self._reject(peer_name(parts[0]), str(error))
            return
        out = self._exits.get(destination)
        if out is None:
            if (destination in self._gone or destination > self._highest) and not has_tuples(prefix):
                return  # credit traffic with a task that has left or is not known yet: its sender repeats it
            self._reject(peer_name(identity), f"no task {destination} in the plan")
            return
        self.frames += 1
        self.bytes += len(payload)
        if not out.send(prefix, payload):
            self._hold(out)
        if self._look is None and isinstance(out, PeerExit):
            self._look = self._reactor.call_later(LOOK, self._look_at_links)

    def _exit_to(self, container: int) -> PeerExit:
        if container not in self._by_container:
            self._by_container[container] = self._parked.pop(container, PeerExit())
        return self._by_container[container]

    def _try(self, out: Exit) -> None:
        if not out.retry():
            self._hold(out)

    def _hold(self, out: Exit) -> None:
        self._held.add(out)
        if self._retry is None:
            self._retry_after = RETRY_MIN
            self._retry = self._reactor.call_later(RETRY_MIN, self._retry_held)

    def _retry_held(self) -> None:
        self._retry = None
        before = self.backlog
        self._held = {out for out in self._held if not out.retry()}
        if self._held:
            moved = self.backlog < before
            self._retry_after = RETRY_MIN if moved else min(2 * self._retry_after, RETRY_MAX)
            self._retry = self._reactor.call_later(self._retry_after, self._retry_held)

    def _look_at_links(self) -> None:
        """Send SYNC where confirmations are overdue; again while frames are held for any peer."""
        now = self._clock()
        # A list, so that every peer is asked: any() alone would stop at the first with frames.
        keeping = [out.ask(now) for out in self._by_container.values()]
        self._look = self._reactor.call_later(LOOK, self._look_at_links) if any(keeping) else None

    def _reject(self, peer: str, reason: str) -> None:
        self.rejected += 1
        self._complaints.warning("dropped a frame from %s: %s", peer, reason)
