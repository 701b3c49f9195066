"""The link over a real socket: what cannot go now is kept, in order."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.execution.memory_links import MemoryLink
from heronpy.instances.execution.turn import Turn
from heronpy.instances.link import unheard
from heronpy.instances.process.fused_links import FusedLinks
from heronpy.instances.process.socket_link import SocketLink
from heronpy.kernel.flow.frame import DATA
from heronpy.kernel.flow.sender import Sender
from heronpy.kernel.transport import Reactor, Router, Transport
from heronpy.kernel.transport.sockets import Local

SENDER = Sender(task=1, incarnation=1, epoch=1)


class Ends:
    """A link, and the router at its other end."""

    def __init__(self, folder: Path, local: Local) -> None:
        self.transport = Transport(local=local)
        self.reactor = Reactor()
        self.path = str(folder / "data")
        self.link = SocketLink(self.reactor, self.transport.dealer_local(self.path, b"me"))
        self.received: list[tuple[bytes, bytes]] = []
        self.link.handler = lambda prefix, payload: self.received.append((prefix, payload))

    def listen(self) -> Router:
        return self.transport.router_local(self.path)


@pytest.fixture(params=get_args(Local))
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ends]:
    made = Ends(tmp_path, request.param)
    yield made
    made.transport.close()
    made.reactor.close()


def test_frames_that_the_socket_would_not_take_leave_later_and_in_order(ends: Ends) -> None:
    for number in range(500):
        ends.link.send(b"%d" % number, b"")
    router = ends.listen()
    arrived: list[bytes] = []
    while len(arrived) < 500:
        ends.link.pump(0.01)
        while (parts := router.receive()) is not None:
            arrived.append(parts[1])
    assert arrived == [b"%d" % number for number in range(500)]


def test_frames_come_in_and_what_is_none_comes_as_one_that_is_refused(ends: Ends) -> None:
    router = ends.listen()
    ends.link.send(b"hello", b"")
    while router.receive() is None:
        ends.link.pump(0.01)
    for message in ([b"prefix", b"payload"], [b"alone"], [b"one", b"too", b"many"], [b"last", b""]):
        router.send(b"me", *message)
    while len(ends.received) < 4:
        ends.link.pump(0.5)
    assert ends.received == [(b"prefix", b"payload"), (b"", b""), (b"", b""), (b"last", b"")]


def test_frames_go_to_the_task_that_they_are_for_and_are_dropped_while_it_is_not_built(
    tmp_path: Path,
) -> None:
    with Transport() as transport:
        reactor, path = Reactor(), str(tmp_path / "shared")
        socket = SocketLink(reactor, transport.dealer_local(path, b"me"))
        links = FusedLinks(socket)
        received: list[tuple[int, bytes]] = []

        def take(task: int, _prefix: bytes, payload: bytes) -> None:
            received.append((task, payload))

        ends = {task: links.open(task) for task in (4, 5, 6)}
        for task, end in ends.items():
            end.handler = functools.partial(take, task)
        router = transport.router_local(path)
        socket.send(b"hello", b"")
        while router.receive() is None:
            links.wait(0.01)

        def pump() -> None:
            links.wait(0.5)
            for end in ends.values():
                end.pump(0)

        def arrive(*destinations: int, last: bytes = b"last") -> list[tuple[int, bytes]]:
            """All that was received before the last frame, which is for task 4."""
            for destination in destinations:
                router.send(b"me", *SENDER.frame(DATA, destination, b"%d" % destination))
            router.send(b"me", *SENDER.frame(DATA, 4, last))
            while (4, last) not in received:
                pump()
            before = [frame for frame in received if frame != (4, last)]
            received.clear()
            return sorted(before)

        assert arrive(6, 4, 5) == [(4, b"4"), (5, b"5"), (6, b"6")]
        ends[5].handler = unheard
        assert arrive(5, 6) == [(6, b"6")]
        # the first refuses, counts and logs what is for none of them
        assert arrive(99) == [(4, b"99")]
        router.send(b"me", b"no prefix", b"noise")
        assert arrive() == [(4, b"noise")]
        reactor.close()


def test_a_task_among_many_is_called_when_its_descriptor_is_readable(tmp_path: Path) -> None:
    with Transport() as transport:
        reactor = Reactor()
        links = FusedLinks(SocketLink(reactor, transport.dealer_local(str(tmp_path / "shared"), b"me")))
        (reader, writer), (other, silent) = os.pipe(), os.pipe()
        calls: list[str] = []

        class Task:
            def __init__(self, name: str, descriptor: int, link: MemoryLink) -> None:
                self.name, self.descriptor, self.link = name, descriptor, link

            def turn(self) -> Turn:
                calls.append(self.name)
                return Turn.DONE

            def patience(self) -> float:
                return 600.0 if self.link.watch(self.descriptor) else 0.0

        loop = ManyTasks(links, links.wait)
        for number, (name, descriptor) in enumerate({"first": reader, "second": other}.items()):
            link = links.open(number)
            loop.add(number, Task(name, descriptor, link), link)
        assert loop.round()
        assert not loop.round()
        os.write(writer, b"x")
        links.wait(600)
        assert loop.round()
        assert calls == ["first", "second", "first"]
        assert loop.patience() == 0, "what is readable already is not waited for"
        os.read(reader, 1)
        assert loop.round()
        os.write(silent, b"x")
        links.wait(600)
        assert loop.round()
        assert calls == ["first", "second", "first", "first", "second"]
        for descriptor in (reader, writer, other, silent):
            os.close(descriptor)
        reactor.close()


def test_a_link_stops_with_its_reactor(ends: Ends) -> None:
    before = ends.link.stopping
    ends.reactor.stop()
    assert (before, ends.link.stopping) == (False, True)
    ends.link.pump(10)


def test_a_wait_ends_when_the_watched_descriptor_is_readable(ends: Ends) -> None:
    ends.listen()
    reader, writer = os.pipe()
    assert ends.link.watch(reader)
    os.write(writer, b"x")
    ends.link.pump(600)
    assert not ends.link.watch(reader), "it is readable already: waiting for it would be spinning"
    os.read(reader, 1)
    assert ends.link.watch(reader)
    ends.link.pump(0)
    os.close(reader)
    assert not ends.link.watch(reader)
    ends.link.pump(0)
    os.close(writer)
