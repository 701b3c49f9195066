"""The forwarder, with real sockets: the same bytes, to the right place, and nothing of a zombie's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from support.tasks.plans import edge, plan_of

from heronpy.kernel.flow.frame import CREDIT, DATA, Prefix, seal
from heronpy.kernel.flow.peer_link import FRAME, RECEIVED
from heronpy.kernel.machine.addresses import container_identity, process_identity
from heronpy.kernel.plans import PlacedTask
from heronpy.kernel.transport import Dealer, Reactor, Router, Transport
from heronpy.kernel.transport.sockets import Local
from heronpy.stream_manager.forwarder import FRAMES_PER_TURN, Forwarder


class Container:
    """Container 1 of a plan whose task 1 emits to 2 (in container 2) and 3 (here)."""

    def __init__(self, folder: Path, local: Local) -> None:
        self.folder = folder
        self.transport = Transport(local=local)
        self.reactor = Reactor()
        self.instances = self.transport.router_local(str(folder / "data"))
        self.peers = self.transport.router_local(str(folder / "peers"))
        self.forwarder = Forwarder(self.reactor, self.instances, self.peers, 1)

    def connect(self, slot: int, incarnation: int, *tasks: int) -> Dealer:
        """A process; its only task has the slot's number, unless said."""
        identity = process_identity(slot, incarnation)
        self.forwarder.admit(slot, incarnation, identity, tasks or [slot])
        return self.transport.dealer_local(str(self.folder / "data"), identity)

    def until(self, condition: Callable[[], object]) -> None:
        for _ in range(500):
            if condition():
                return
            self.reactor.turn(0.01)
        pytest.fail("did not happen")

    def next(self, socket: Dealer | Router) -> list[bytes]:
        got: list[bytes] = []

        def arrived() -> bool:
            got.extend(socket.receive() or [])
            return bool(got)

        self.until(arrived)
        return got

    def close(self) -> None:
        self.transport.close()
        self.reactor.close()


@pytest.fixture(params=get_args(Local))
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    made = Container(tmp_path, request.param)
    made.forwarder.use_plan(plan_of(edge("shuffle"), par=2))
    yield made
    made.close()


def sealed(
    destination: int, payload: bytes = b"payload", source: int = 1, kind: int = DATA
) -> tuple[bytes, bytes]:
    return seal(Prefix(kind, destination, source, 0, 1, 1, 1, 0, 0), payload)


def test_a_frame_for_a_neighbour_arrives_byte_for_byte(container: Container) -> None:
    """The payload is noise: whoever tried to read it would stumble."""
    sender, receiver = container.connect(1, 1), container.connect(3, 1)
    for size in (0, 1, 1000, 100_000):
        frame = sealed(3, random.randbytes(size))
        sender.send(frame)
        assert container.next(receiver) == list(frame)
    assert (container.forwarder.frames, container.forwarder.bytes) == (4, 101_001)


def test_a_frame_with_a_broken_checksum_is_none_of_our_business(container: Container) -> None:
    sender, receiver = container.connect(1, 1), container.connect(3, 1)
    prefix, _ = sealed(3)
    sender.send((prefix, b"other payload"))
    assert container.next(receiver) == [prefix, b"other payload"]


def numbered(number: int) -> bytes:
    return bytes([FRAME]) + number.to_bytes(8, "little")


def test_a_frame_for_another_container_goes_to_its_stream_manager(
    container: Container, tmp_path: Path
) -> None:
    far = container.transport.router_local(str(tmp_path / "far"))
    container.forwarder.connect(2, 1, container.transport.dealer_local(str(tmp_path / "far"), b"one"))
    container.connect(1, 1).send(sealed(2))
    assert container.next(far) == [b"one", numbered(0), *sealed(2)]


def test_a_frame_from_another_container_reaches_the_instance_and_is_confirmed(
    container: Container, tmp_path: Path
) -> None:
    receiver = container.connect(3, 1)
    peer = container.transport.dealer_local(str(tmp_path / "peers"), container_identity(2, 1))
    peer.send((numbered(0), *sealed(3, source=4)))
    assert container.next(receiver) == list(sealed(3, source=4))
    assert container.next(peer) == [bytes([RECEIVED]) + (1).to_bytes(8, "little")]


def test_a_replaced_stream_manager_is_not_heard_on_the_connection_it_still_has(
    container: Container, tmp_path: Path
) -> None:
    receiver = container.connect(3, 1)
    old, new = (
        container.transport.dealer_local(str(tmp_path / "peers"), container_identity(2, incarnation))
        for incarnation in (1, 2)
    )
    old.send((numbered(0), *sealed(3, b"alive", source=4)))
    assert container.next(receiver)[1] == b"alive"
    container.forwarder.connect(2, 2, new)
    old.send((numbered(1), *sealed(3, b"zombie", source=4)))
    container.until(lambda: container.forwarder.rejected == 1)
    new.send((numbered(0), *sealed(3, b"successor", source=4)))
    assert container.next(receiver)[1] == b"successor"


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"garbage"],
        [b"\x09" + bytes(8), *sealed(3)],
        [numbered(0)],
        [numbered(0), b"short"],
        [numbered(0), *sealed(3), b"more"],
    ],
    ids=["empty", "garbage", "kind", "no frame", "short frame", "long frame"],
)
def test_what_is_no_frame_of_a_peer_is_dropped_and_counted(
    container: Container, tmp_path: Path, parts: list[bytes]
) -> None:
    peer = container.transport.dealer_local(str(tmp_path / "peers"), container_identity(2, 1))
    peer.send(parts)
    container.until(lambda: container.forwarder.rejected == 1)


def test_frames_for_an_instance_that_is_not_there_yet_wait_in_order(container: Container) -> None:
    sender = container.connect(1, 1)
    for number in range(5):
        sender.send(sealed(3, b"%d" % number))
    container.until(lambda: container.forwarder.backlog == 5)
    receiver = container.connect(3, 1)
    assert [container.next(receiver)[1] for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
    container.until(lambda: container.forwarder.backlog == 0)


def test_a_successor_is_sent_what_waited_and_its_predecessor_is_not_heard_any_more(
    container: Container,
) -> None:
    oldest, old = container.connect(1, 1), container.connect(1, 2)
    receiver = container.connect(3, 1)
    old.send(sealed(3, b"alive"))
    assert container.next(receiver)[1] == b"alive"
    new = container.connect(1, 3)
    old.send(sealed(3, b"zombie"))
    oldest.send(sealed(3, b"older zombie"))
    container.until(lambda: container.forwarder.rejected == 2)
    new.send(sealed(3, b"successor"))
    assert container.next(receiver)[1] == b"successor"


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"garbage"],
        [b"too short", b"payload"],
        [sealed(3)[0]],
        [*sealed(3), b"third part"],
        [bytes(len(sealed(3)[0])), b""],
        list(sealed(99)),
    ],
    ids=["empty", "one part", "short prefix", "no payload", "three parts", "zeros", "unknown task"],
)  # fmt: skip
def test_what_is_no_frame_is_dropped_and_counted(container: Container, parts: list[bytes]) -> None:
    sender, receiver = container.connect(1, 1), container.connect(3, 1)
    sender.send(parts)
    container.until(lambda: container.forwarder.rejected == 1)
    sender.send(sealed(3, b"good"))
    assert container.next(receiver)[1] == b"good"
    assert container.forwarder.frames == 1


def test_a_flood_of_bad_frames_does_not_fill_the_log(
    container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    sender = container.connect(1, 1)
    for _ in range(50):
        assert sender.send([b"garbage"])
    container.until(lambda: container.forwarder.rejected == 50)
    assert len([record for record in caplog.records if "dropped a frame" in record.getMessage()]) == 1


def test_control_is_served_before_a_flood_of_data(container: Container, tmp_path: Path) -> None:
    sender = container.connect(1, 1)
    control = container.transport.router_local(str(tmp_path / "control"))
    moved_when_served: list[int] = []

    def serve() -> None:
        control.receive()
        moved_when_served.append(container.forwarder.frames)

    container.reactor.register(control, serve, urgent=True)
    caller = container.transport.dealer_local(str(tmp_path / "control"), b"caller")
    while sender.send(sealed(3)):
        pass
    caller.send([b"beat"])
    watching, there = Reactor(), set[str]()
    watching.register(control, lambda: there.add("control"))
    watching.register(container.instances, lambda: there.add("data"))
    while len(there) < 2:
        watching.turn(5)
    watching.close()
    container.reactor.turn(1)
    assert moved_when_served == [0]
    assert 0 < container.forwarder.frames <= FRAMES_PER_TURN


def test_a_new_plan_keeps_the_queues_of_tasks_that_stay(container: Container) -> None:
    container.connect(1, 1).send(sealed(3, b"early"))
    container.until(lambda: container.forwarder.backlog == 1)
    container.forwarder.use_plan(plan_of(edge("shuffle"), par=4))
    assert container.next(container.connect(3, 1))[1] == b"early"


def test_what_waits_for_those_who_left_the_plan_is_dropped_and_counted(container: Container) -> None:
    small, large = plan_of(edge("shuffle"), par=2), plan_of(edge("shuffle"), par=6, containers=4)
    forwarder = container.forwarder
    sender = container.connect(1, 1)
    forwarder.use_plan(small, large)
    # task 5 is to live here, 4 and 7 in containers 4 and 3; nobody of them has come
    for task in (5, 4, 7, 7):
        sender.send(sealed(task))
    container.until(lambda: forwarder.backlog == 4)
    forwarder.use_plan(small)
    assert (forwarder.backlog, forwarder.dropped) == (0, 4)
    sender.send(sealed(5))
    container.until(lambda: forwarder.rejected == 1)


def test_talk_of_credit_with_those_who_left_the_plan_ends_without_a_word(container: Container) -> None:
    small, large = plan_of(edge("shuffle"), par=2), plan_of(edge("shuffle"), par=6, containers=4)
    forwarder = container.forwarder
    sender = container.connect(1, 1)
    forwarder.use_plan(small, large)
    for task in (5, 4):
        sender.send(sealed(task, kind=CREDIT))
    container.until(lambda: forwarder.backlog == 2)
    forwarder.use_plan(small)
    sender.send(sealed(5, kind=CREDIT))
    sender.send(sealed(0, kind=CREDIT))  # nobody had that one
    container.until(lambda: forwarder.rejected)
    assert (forwarder.dropped, forwarder.rejected) == (0, 1)


def test_talk_of_credit_with_those_of_a_plan_still_to_come_is_no_offence(container: Container) -> None:
    forwarder = container.forwarder
    forwarder.use_plan()  # as of a topology that is being killed
    forwarder.use_plan(plan_of(edge("shuffle"), par=2))
    sender = container.connect(1, 1)
    sender.send(sealed(9, kind=CREDIT))
    sender.send(sealed(9))  # tuples come behind credit only, which nobody can have given
    container.until(lambda: forwarder.rejected)
    sender.send(sealed(2, kind=CREDIT))
    container.until(lambda: forwarder.backlog)
    assert (forwarder.dropped, forwarder.rejected) == (0, 1)


def test_a_hundred_updates_leave_nothing_behind(container: Container, tmp_path: Path) -> None:
    """Each brings a container, a task in it and one here, which come, are sent something, and go."""
    staying = plan_of(edge("shuffle"), par=2)
    forwarder = container.forwarder
    sender = container.connect(1, 1)
    sizes = set()
    for number in range(100):
        here, there, far = 10 + 2 * number, 11 + 2 * number, 3 + number
        both = (*staying.tasks, PlacedTask(here, "count", 2, 1), PlacedTask(there, "count", 3, far))
        forwarder.use_plan(staying, msgspec.structs.replace(staying, tasks=both))
        forwarder.admit(here, 1, process_identity(here, 1), [here])
        dealer = container.transport.dealer_local(str(tmp_path / "nobody"), container_identity(far, 1))
        forwarder.connect(far, 1, dealer)
        sender.send(sealed(here))
        container.until(lambda: forwarder.backlog)
        forwarder.use_plan(staying)
        forwarder.forget(far)
        dealer.close()
        sizes.add(sum(len(kept) for kept in vars(forwarder).values() if isinstance(kept, dict | set)))
    assert len(sizes) == 1
    assert forwarder.dropped == 100


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Container]:
    """As `container`, but the tasks 3, 5 and 7 live in one process, in slot 3."""
    made = Container(tmp_path, "zmq")
    plan = plan_of(edge("shuffle"), par=6)
    tasks = tuple(
        msgspec.structs.replace(task, slot=3) if task.id in (3, 5, 7) else task for task in plan.tasks
    )
    made.forwarder.use_plan(msgspec.structs.replace(plan, tasks=tasks))
    yield made
    made.close()


def test_frames_for_each_task_of_a_process_arrive_at_the_one_connection_that_it_has(
    shared: Container,
) -> None:
    sender, receiver = shared.connect(1, 1), shared.connect(3, 1, 3, 5, 7)
    for task in (5, 3, 7):
        sender.send(sealed(task, b"%d" % task))
    # in order for each task alone: until the process is connected, each has a queue of its own
    assert sorted(shared.next(receiver) for _ in range(3)) == sorted(
        list(sealed(task, b"%d" % task)) for task in (3, 5, 7)
    )
    receiver.send(sealed(1, b"from 5", source=5))
    assert shared.next(sender)[1] == b"from 5"


def test_what_waits_for_the_tasks_of_a_process_goes_to_its_successor(shared: Container) -> None:
    sender = shared.connect(1, 1)
    for task in (3, 5, 7):
        sender.send(sealed(task, b"%d" % task))
    shared.until(lambda: shared.forwarder.backlog == 3)
    successor = shared.connect(3, 2, 3, 5, 7)
    assert sorted(shared.next(successor)[1] for _ in range(3)) == [b"3", b"5", b"7"]
    shared.until(lambda: shared.forwarder.backlog == 0)


def test_of_a_replaced_process_the_frames_of_none_of_its_tasks_are_forwarded(shared: Container) -> None:
    old, receiver = shared.connect(3, 1, 3, 5, 7), shared.connect(1, 1)
    old.send(sealed(1, b"alive", source=7))
    assert shared.next(receiver)[1] == b"alive"
    new = shared.connect(3, 2, 3, 5, 7)
    for task in (3, 5, 7):
        old.send(sealed(1, b"zombie", source=task))
    shared.until(lambda: shared.forwarder.rejected == 3)
    for task in (3, 5, 7):
        new.send(sealed(1, b"successor of %d" % task, source=task))
    assert [shared.next(receiver)[1] for _ in range(3)] == [b"successor of %d" % task for task in (3, 5, 7)]


def test_a_slot_whose_tasks_have_left_the_plan_leaves_nothing_behind(shared: Container) -> None:
    forwarder = shared.forwarder
    shared.connect(1, 1)
    before = sum(len(kept) for kept in vars(forwarder).values() if isinstance(kept, dict | set))
    shared.connect(3, 1, 3, 5, 7)
    forwarder.use_plan(plan_of(edge("shuffle"), par=1))
    after = sum(len(kept) for kept in vars(forwarder).values() if isinstance(kept, dict | set))
    assert after < before
