"""Two Stream Managers whose connection breaks and comes back: nothing lost, repeated or out of order."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.faults.faultproxy import FaultProxy
from support.tasks.plans import edge, plan_of

from heronpy.kernel.flow.frame import DATA, Prefix, seal
from heronpy.kernel.machine.addresses import container_identity, process_identity
from heronpy.kernel.transport import Dealer, Reactor, Transport
from heronpy.stream_manager.forwarder import Forwarder


class Side:
    """One Stream Manager's forwarder, with a CURVE socket for the other."""

    def __init__(self, reactor: Reactor, folder: Path, container: int) -> None:
        self.container = container
        self.folder = folder
        self.reactor = reactor
        self.transport = Transport()
        self.peers = self.transport.router_tcp()
        instances = self.transport.router_ipc(str(folder / f"data-{container}"))
        self.forwarder = Forwarder(reactor, instances, self.peers, container)
        self.forwarder.use_plan(plan_of(edge("shuffle"), par=2))
        self.transport.gatekeeper.serve(reactor)

    def connect_to(self, other: Side, endpoint: str) -> None:
        other.transport.gatekeeper.allow([self.transport.keys.public])
        identity = container_identity(self.container, 1)
        dealer = self.transport.dealer_tcp(endpoint, identity, other.transport.keys.public)
        self.reactor.register(dealer, lambda: self.forwarder.on_replies(other.container))
        self.forwarder.connect(other.container, 1, dealer)

    def instance(self, task: int) -> Dealer:
        self.forwarder.admit(task, 1, process_identity(task, 1), [task])
        return self.transport.dealer_ipc(
            str(self.folder / f"data-{self.container}"), process_identity(task, 1)
        )


class Pair:
    """Task 1 in container 1 sends numbered frames to task 2 in container 2, through a proxy."""

    def __init__(self, folder: Path) -> None:
        self.reactor = Reactor()
        self.one, self.two = (Side(self.reactor, folder, container) for container in (1, 2))
        self.proxy = FaultProxy(self.two.peers.endpoint)
        self.one.connect_to(self.two, self.proxy.endpoint)
        self.emitter, self.receiver = self.one.instance(1), self.two.instance(2)
        self.sent = 0
        self.arrived: list[int] = []

    def send(self, count: int) -> None:
        for _ in range(count):
            prefix = Prefix(DATA, 2, 1, 0, 1, 1, 1, 0, self.sent)
            self.until(lambda prefix=prefix: self.emitter.send(seal(prefix, bytes(2000))))  # type: ignore[misc]
            self.sent += 1
            self.turn()

    def turn(self) -> None:
        self.reactor.turn(0)
        while (parts := self.receiver.receive()) is not None:
            self.arrived.append(int.from_bytes(parts[0][34:42], "little"))

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, f"{len(self.arrived)} of {self.sent} arrived"
            self.turn()

    def close(self) -> None:
        with self.proxy:
            self.one.transport.close()
            self.two.transport.close()
            self.reactor.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_connections_that_are_reset_again_and_again_lose_nothing(pair: Pair, seed: int) -> None:
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(10):
        pair.send(dice.randrange(50, 400))
        pair.proxy.hold()
        pair.send(dice.randrange(5, 30))
        pair.proxy.reset()
        pair.proxy.release()
    # of those before, each may have hit a connection that was not made again yet
    pair.until(lambda: len(pair.arrived) == pair.sent)
    pair.proxy.hold()
    pair.send(30)
    pair.until(lambda: pair.proxy.waiting() > 2000)
    pair.proxy.reset()
    pair.proxy.release()
    pair.send(100)
    pair.until(lambda: len(pair.arrived) >= pair.sent)
    assert pair.arrived == list(range(pair.sent))
    assert pair.proxy.resets >= 2
    assert pair.one.forwarder.resent > 0, "no fault hit anything in flight"


def test_what_is_held_back_for_a_while_comes_when_the_road_is_free(pair: Pair) -> None:
    pair.send(50)
    pair.until(lambda: len(pair.arrived) == 50)
    pair.proxy.hold()
    pair.send(30)
    until = time.monotonic() + 1.5
    pair.until(lambda: time.monotonic() > until)
    assert len(pair.arrived) == 50
    pair.proxy.release()
    pair.until(lambda: len(pair.arrived) == pair.sent)
    assert pair.arrived == list(range(80))


def test_a_link_at_rest_has_nothing_left_to_ask(pair: Pair) -> None:
    pair.send(10)
    pair.until(lambda: len(pair.arrived) == 10 and pair.one.forwarder.unconfirmed == 0)
