"""Sockets on TCP: who gets in, what is refused. What all sockets do is in test_local_links.py."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from collections.abc import Callable, Iterator

import pytest
import zmq

from heronpy.kernel.errors import MessageTooLarge, UserError
from heronpy.kernel.transport import Dealer, Delivery, KeyPair, Router, Transport, descriptors
from heronpy.kernel.transport.curve import PARKED_MAX
from heronpy.kernel.transport.interface import SMALLEST_LIMIT

Maker = Callable[..., Transport]


@pytest.fixture
def transport() -> Iterator[Maker]:
    made: list[Transport] = []

    def make(**settings: float) -> Transport:
        made.append(Transport(**settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def receive(socket: Router | Dealer, seconds: float = 5.0) -> list[bytes] | None:
    """The next message, or None after so many seconds."""
    deadline = time.monotonic() + seconds
    while (parts := socket.receive()) is None and time.monotonic() < deadline:
        time.sleep(0.002)
    return parts


class Server:
    """A CURVE router whose gatekeeper is served whenever somebody looks for messages."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.router = transport.router_tcp()

    def receive(self, seconds: float) -> list[bytes] | None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.transport.gatekeeper.on_readable()
            parts = self.router.receive()
            if parts is not None:
                return parts
            time.sleep(0.002)
        return None

    @property
    def rejected(self) -> int:
        for handshakes in self.transport.gatekeeper._watched:
            handshakes.on_readable()
        return self.transport.gatekeeper.rejected

    def until_rejected(self, count: int) -> None:
        deadline = time.monotonic() + 10
        while self.rejected < count:
            assert time.monotonic() < deadline, f"{self.rejected} of {count} were counted"
            assert self.receive(0.01) is None
        assert self.rejected == count

    def dealer(self, client: Transport, identity: bytes = b"client") -> Dealer:
        return client.dealer_tcp(self.router.endpoint, identity, self.transport.keys.public)

    @property
    def port(self) -> int:
        return int(self.router.endpoint.rpartition(":")[2])


def test_a_key_pair_does_not_show_its_secret() -> None:
    pair = KeyPair.make()
    assert pair.secret_key not in f"{pair} {pair!r} {[pair]}"
    assert pair.public in repr(pair)


def test_a_registered_key_gets_in_and_its_answer_gets_out(transport: Maker) -> None:
    server, client = Server(transport()), transport()
    server.transport.gatekeeper.allow([client.keys.public])
    dealer = server.dealer(client)
    dealer.send([b"hello"])
    assert server.receive(5) == [b"client", b"hello"]
    server.router.send(b"client", b"welcome")
    assert receive(dealer) == [b"welcome"]
    assert server.rejected == 0


def test_an_unknown_key_delivers_nothing_and_is_counted(transport: Maker) -> None:
    server, stranger = Server(transport(handshake=0.1)), transport(handshake=0.1)
    server.transport.gatekeeper.allow([transport().keys.public])
    server.dealer(stranger).send([b"let me in"])
    assert server.receive(0.5) is None
    assert server.rejected >= 1
    assert server.router.send(b"client", b"secret") is Delivery.UNKNOWN


def test_a_key_that_is_registered_a_moment_later_gets_in_without_a_new_handshake(transport: Maker) -> None:
    server, client = Server(transport()), transport()
    server.dealer(client).send([b"early"])
    assert server.receive(0.2) is None
    server.transport.gatekeeper.allow([client.keys.public])
    assert server.receive(1.0) == [b"client", b"early"]
    assert server.rejected == 0


def test_a_key_that_is_registered_long_after_gets_in_too(transport: Maker) -> None:
    server, client = Server(transport(handshake=0.1)), transport(handshake=0.1)
    server.dealer(client).send([b"early"])
    assert server.receive(0.4) is None
    server.transport.gatekeeper.allow([client.keys.public])
    assert server.receive(5) == [b"client", b"early"]


def test_a_key_that_was_taken_off_the_list_cannot_connect_anew(transport: Maker) -> None:
    server, client = Server(transport(handshake=0.1)), transport(handshake=0.1)
    server.transport.gatekeeper.allow([client.keys.public])
    first = server.dealer(client)
    first.send([b"1"])
    assert server.receive(5) == [b"client", b"1"]
    first.close()
    server.transport.gatekeeper.allow([])
    server.dealer(client, b"again").send([b"2"])
    assert server.receive(0.4) is None


def test_those_who_wait_for_their_key_are_few_however_often_they_come(transport: Maker) -> None:
    """A replaced container may knock every two seconds for weeks."""
    gatekeeper = transport().gatekeeper
    key = bytes(32)
    for number in range(2 * PARKED_MAX):
        gatekeeper._park(key, [b"id", b"", b"1.0", b"%d" % number, b"", b"10.0.0.1", b"", b"CURVE", key])
    assert len(gatekeeper._parked) == PARKED_MAX


def test_the_oldest_of_too_many_unfinished_handshakes_ends_and_no_finished_one_does(
    transport: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "MOST_UNFINISHED", 8)
    server = Server(transport(handshake=60.0))
    client = transport()
    server.transport.gatekeeper.allow([client.keys.public])
    dealer = client.dealer_tcp(server.router.endpoint, b"early", server.transport.keys.public)
    dealer.send([b"before"])
    assert server.receive(5) == [b"early", b"before"]

    host, _, port = server.router.endpoint.removeprefix("tcp://").rpartition(":")
    with contextlib.ExitStack() as opened:
        strangers = [
            opened.enter_context(socket.create_connection((host, int(port)), timeout=10)) for _ in range(40)
        ]
        server.until_rejected(32)
        for turned_away in strangers[:31]:
            while turned_away.recv(100):
                pass
        later = client.dealer_tcp(server.router.endpoint, b"late", server.transport.keys.public)
        for each in (dealer, later):
            each.send([b"after"])
        came = {bytes(parts[0]) for _ in range(2) if (parts := server.receive(5)) is not None}
        assert came == {b"early", b"late"}
        assert server.router.send(b"early", b"the same connection") is Delivery.SENT
        assert receive(dealer) == [b"the same connection"]
    assert 32 <= server.rejected <= 40


def test_a_client_that_takes_another_for_its_server_delivers_nothing(transport: Maker) -> None:
    server, client = Server(transport(handshake=0.1)), transport(handshake=0.1)
    server.transport.gatekeeper.allow([client.keys.public])
    client.dealer_tcp(server.router.endpoint, b"client", KeyPair.make().public).send([b"x"])
    assert server.receive(0.3) is None


def test_a_client_without_a_key_delivers_nothing(transport: Maker) -> None:
    server = Server(transport(handshake=0.1))
    with zmq.Context() as context, context.socket(zmq.DEALER) as plain:
        plain.setsockopt(zmq.LINGER, 0)
        plain.connect(server.router.endpoint)
        plain.send(b"let me in")
        server.until_rejected(1)


def test_a_password_is_no_key(transport: Maker) -> None:
    server = Server(transport(handshake=0.1))
    with zmq.Context() as context, context.socket(zmq.DEALER) as client:
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.PLAIN_USERNAME, b"admin")
        client.setsockopt(zmq.PLAIN_PASSWORD, b"admin")
        client.connect(server.router.endpoint)
        client.send(b"let me in")
        server.until_rejected(1)


def test_everybody_who_knocks_without_a_key_is_counted(transport: Maker) -> None:
    server = Server(transport(handshake=0.2))
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00"
    for said in (b"", greeting + random.randbytes(200), greeting + b"NULL".ljust(52, b"\0")):
        with socket.create_connection(("127.0.0.1", server.port)) as stranger:
            stranger.sendall(said)
    with socket.create_connection(("127.0.0.1", server.port)):  # says nothing until its time is up
        server.until_rejected(4)


def test_garbage_on_the_port_delivers_nothing_and_harms_nobody(transport: Maker) -> None:
    server, client = Server(transport(handshake=0.2)), transport()
    server.transport.gatekeeper.allow([client.keys.public])
    for number in range(30):
        with socket.create_connection(("127.0.0.1", server.port)) as garbage:
            greeting = b"\xff" + bytes(8) + b"\x7f\x03" if number % 2 else b""
            garbage.sendall(greeting + random.randbytes(200))
    assert server.receive(0.1) is None
    server.dealer(client).send([b"still there?"])
    assert server.receive(5) == [b"client", b"still there?"]


LIMIT = SMALLEST_LIMIT


def test_a_message_over_the_limit_is_refused_before_it_can_harm_its_neighbours(transport: Maker) -> None:
    hub, client = transport(max_bytes=LIMIT), transport(max_bytes=LIMIT)
    server = Server(hub)
    hub.gatekeeper.allow([client.keys.public])
    router, dealer = server.router, server.dealer(client)
    dealer.send([b"first"])
    assert server.receive(5) == [b"client", b"first"]
    dealer.send([b"before"])
    complaint = f"a message part of {LIMIT + 1} bytes is above the limit of {LIMIT} bytes"
    with pytest.raises(MessageTooLarge, match=complaint):
        dealer.send([b"prefix", bytes(LIMIT + 1)])
    dealer.send([b"largest", bytes(LIMIT)])
    assert receive(router) == [b"client", b"before"]
    assert receive(router) == [b"client", b"largest", bytes(LIMIT)]
    with pytest.raises(MessageTooLarge, match=complaint):
        router.send(b"client", bytes(LIMIT + 1))
    assert router.send(b"client", bytes(LIMIT)) is Delivery.SENT
    assert receive(dealer) == [bytes(LIMIT)]


def test_a_sender_that_does_not_check_is_cut_off(transport: Maker) -> None:
    hub, careless = transport(max_bytes=LIMIT), transport(max_bytes=2 * LIMIT)
    server = Server(hub)
    hub.gatekeeper.allow([careless.keys.public])
    server.dealer(careless).send([bytes(LIMIT + 1)])
    assert server.receive(0.5) is None


def test_a_port_in_use_is_one_line_that_says_what_to_do(transport: Maker) -> None:
    first = Server(transport())
    with pytest.raises(UserError) as caught:
        transport(port=first.port).router_tcp()
    assert str(caught.value) == (
        f"cannot listen on tcp://127.0.0.1:{first.port}: Address already in use"
        " (try: set another transport.host or transport.port, or end the process that holds the address)"
    )


def test_closing_gives_everything_back() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def use() -> None:
        with Transport() as one:
            server = Server(one)
            one.gatekeeper.allow([one.keys.public])
            server.dealer(one).send([b"x"])
            assert server.receive(5) == [b"client", b"x"]

    use()
    before = descriptors()
    for _ in range(3):
        use()
    assert descriptors() == before
