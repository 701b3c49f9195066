"""Links between the processes of a container: one contract, whichever sockets carry them."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from heronpy.kernel.errors import MessageTooLarge
from heronpy.kernel.transport import Dealer, Delivery, Reactor, Router, Transport
from heronpy.kernel.transport.interface import HIGH_WATER_MARK, SMALLEST_LIMIT
from heronpy.kernel.transport.sockets import Local

LIMIT = 3 * SMALLEST_LIMIT
#: handlers leave the rest for the next turn
PER_TURN = 64


class Links:
    """Routers and dealers that one reactor serves; what arrives at each is kept."""

    def __init__(self, kind: Local, folder: Path) -> None:
        self.kind: Local = kind
        self.folder = folder
        self.transport = Transport(local=kind, max_bytes=LIMIT)
        self.reactor = Reactor()

    def router(self, name: str = "data") -> tuple[Router, deque[list[bytes]]]:
        router = self.transport.router_local(str(self.folder / name))
        return router, self._collect(router)

    def dealer(self, identity: bytes, name: str = "data") -> tuple[Dealer, deque[list[bytes]]]:
        dealer = self.transport.dealer_local(str(self.folder / name), identity)
        return dealer, self._collect(dealer)

    def until(self, condition: Callable[[], object], seconds: float = 20.0) -> None:
        for _ in range(int(seconds / 0.01)):
            if condition():
                return
            self.reactor.turn(0.01)
        pytest.fail("did not happen")

    def close(self, socket: Router | Dealer) -> None:
        self.reactor.unregister(socket)
        socket.close()

    def end(self) -> None:
        self.transport.close()
        self.reactor.close()

    def _collect(self, source: Router | Dealer) -> deque[list[bytes]]:
        arrived: deque[list[bytes]] = deque()

        def take() -> None:
            for _ in range(PER_TURN):
                parts = source.receive()
                if parts is None:
                    return
                arrived.append(parts)

        self.reactor.register(source, take)
        return arrived


@pytest.fixture(params=get_args(Local))
def links(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Links]:
    made = Links(request.param, tmp_path)
    yield made
    made.end()


def test_messages_of_many_peers_arrive_in_order_and_so_do_their_answers(links: Links) -> None:
    router, arrived = links.router()
    peers = {bytes([65 + number]): links.dealer(bytes([65 + number])) for number in range(4)}
    unsent = {identity: deque(range(1000)) for identity in peers}
    answers: deque[list[bytes]] = deque()
    heard: dict[bytes, list[int]] = {identity: [] for identity in peers}

    def work() -> bool:
        for identity, (dealer, _) in peers.items():
            numbers = unsent[identity]
            while numbers and dealer.send((b"%d" % numbers[0], bytes(numbers[0]))):
                numbers.popleft()
        while arrived:
            identity, number, payload = arrived.popleft()
            heard[identity].append(int(number))
            assert len(payload) == int(number)
            answers.append([identity, number])
        while answers and router.send(*answers[0]) is Delivery.SENT:
            answers.popleft()
        return all(len(got) == 1000 for _, got in peers.values())

    links.until(work)
    assert all(numbers == list(range(1000)) for numbers in heard.values())
    for _, got in peers.values():
        assert [int(number) for (number,) in got] == list(range(1000))


@pytest.mark.parametrize(
    "sizes",
    [(0,), (1,), (0, 0), (46, 1), (65_526, 1), (46, 65_536), (46, 300_000), (9, 46, 1 << 20), (46, LIMIT)],
    ids=str,
)  # fmt: skip
def test_a_message_of_any_size_arrives_as_it_was_between_its_neighbours(
    links: Links, sizes: tuple[int, ...]
) -> None:
    router, arrived = links.router()
    dealer, answers = links.dealer(b"me")
    message = [random.randbytes(size) for size in sizes]
    for each in ([b"before"], message, message, [b"after"]):
        assert dealer.send(each)
    links.until(lambda: len(arrived) == 4)
    assert list(arrived) == [[b"me", *each] for each in ([b"before"], message, message, [b"after"])]
    for each in ([b"before"], message, message, [b"after"]):
        assert router.send(b"me", *each) is Delivery.SENT
    links.until(lambda: len(answers) == 4)
    assert list(answers) == [[b"before"], message, message, [b"after"]]


def test_a_message_over_the_limit_is_refused_and_its_neighbours_arrive(links: Links) -> None:
    router, arrived = links.router()
    dealer, answers = links.dealer(b"me")
    complaint = f"a message part of {LIMIT + 1} bytes is above the limit of {LIMIT} bytes"
    dealer.send([b"before"])
    with pytest.raises(MessageTooLarge, match=complaint):
        dealer.send([b"prefix", bytes(LIMIT + 1)])
    dealer.send([b"after"])
    links.until(lambda: len(arrived) == 2)
    with pytest.raises(MessageTooLarge, match=complaint):
        router.send(b"me", bytes(LIMIT + 1))
    router.send(b"me", b"answer")
    links.until(lambda: answers)
    assert [arrived[0], arrived[1], answers[0]] == [[b"me", b"before"], [b"me", b"after"], [b"answer"]]


def test_a_sender_that_does_not_check_is_cut_off_and_the_others_are_not(links: Links) -> None:
    _, arrived = links.router()
    good, _ = links.dealer(b"good")
    careless = Links(links.kind, links.folder)
    careless.transport = Transport(local=links.kind, max_bytes=2 * LIMIT)
    bad, _ = careless.dealer(b"bad")
    bad.send([b"hello"])
    links.until(lambda: arrived)
    bad.send([bytes(LIMIT + 1)])
    for _ in range(20):
        careless.reactor.turn(0)
        links.reactor.turn(0.01)
    good.send([b"still there"])
    links.until(lambda: [b"good", b"still there"] in arrived)
    assert [parts[0] for parts in arrived] == [b"bad", b"good"]
    careless.end()


def test_who_does_not_read_fills_up_holds_no_other_up_and_loses_nothing(links: Links) -> None:
    router, arrived = links.router()
    slow, slow_got = links.dealer(b"slow")
    quick, quick_got = links.dealer(b"quick")
    for dealer in (slow, quick):
        dealer.send([b"hello"])
    links.until(lambda: len(arrived) == 2)
    links.reactor.unregister(slow)
    sent, payload = 0, bytes(100_000)

    def full() -> bool:
        nonlocal sent
        while router.send(b"slow", b"%d" % sent, payload) is Delivery.SENT:
            sent += 1
        return sent >= HIGH_WATER_MARK and router.send(b"slow", b"more") is Delivery.FULL

    links.until(full)
    for _ in range(30):  # what is on its way comes to rest
        full()
        links.reactor.turn(0.01)
    assert sent < 4 * HIGH_WATER_MARK
    assert router.send(b"quick", b"past it") is Delivery.SENT
    links.until(lambda: quick_got)

    def take() -> None:
        while (parts := slow.receive()) is not None:
            slow_got.append(parts)

    links.reactor.register(slow, take)
    links.until(lambda: len(slow_got) == sent)
    assert [int(parts[0]) for parts in slow_got] == list(range(sent))
    assert all(parts[1] == payload for parts in slow_got)
    assert router.send(b"slow", b"again") is Delivery.SENT


def test_a_listener_that_does_not_read_fills_its_peers_up_and_loses_nothing(links: Links) -> None:
    router, arrived = links.router()
    dealer, _ = links.dealer(b"me")
    dealer.send([b"hello"])
    links.until(lambda: arrived)
    links.reactor.unregister(router)
    sent, payload = 0, bytes(100_000)
    for _ in range(50):
        while dealer.send([b"%d" % sent, payload]):
            sent += 1
        links.reactor.turn(0.01)
    assert HIGH_WATER_MARK <= sent < 4 * HIGH_WATER_MARK
    numbers: list[int] = []

    def take() -> None:
        while (parts := router.receive()) is not None:
            numbers.append(int(parts[1]))

    links.reactor.register(router, take)
    links.until(lambda: len(numbers) == sent)
    assert numbers == list(range(sent))
    assert dealer.send([b"again"])


def test_a_dealer_without_a_listener_keeps_some_and_says_when_it_is_full(links: Links) -> None:
    dealer, _ = links.dealer(b"early")
    answers = [dealer.send([b"%d" % number]) for number in range(1000)]
    kept = answers.index(False)
    assert kept >= HIGH_WATER_MARK
    assert not any(answers[kept:])
    _, arrived = links.router()
    links.until(lambda: len(arrived) == kept)
    assert list(arrived) == [[b"early", b"%d" % number] for number in range(kept)]


def test_a_peer_that_is_not_there_is_said_and_not_dropped(links: Links) -> None:
    router, _ = links.router()
    assert router.send(b"nobody", b"x") is Delivery.UNKNOWN


def test_a_listener_that_starts_again_is_found_and_what_waited_for_it_arrives(links: Links) -> None:
    router, arrived = links.router()
    peers = [links.dealer(b"%d" % number) for number in range(3)]
    for dealer, _ in peers:
        dealer.send([b"1"])
    links.until(lambda: len(arrived) == 3)
    for life in range(2, 5):
        links.close(router)
        for _ in range(5):
            links.reactor.turn(0.01)
        for dealer, _ in peers:
            for number in range(10):
                assert dealer.send([b"%d" % life, b"%d" % number])
        router, arrived = links.router()
        links.until(lambda arrived=arrived: len(arrived) == 30)  # type: ignore[misc]
        for number, (_, got) in enumerate(peers):
            identity = b"%d" % number
            mine = [parts[1:] for parts in arrived if parts[0] == identity]
            assert mine == [[b"%d" % life, b"%d" % each] for each in range(10)]
            assert router.send(identity, b"welcome back", b"%d" % life) is Delivery.SENT
            links.until(lambda got=got, life=life: [b"welcome back", b"%d" % life] in got)  # type: ignore[misc]


def test_what_a_handler_leaves_is_served_in_the_next_turn(links: Links) -> None:
    """Nothing more comes in meanwhile: no descriptor has to wake the reactor."""
    router, arrived = links.router()
    dealer, got = links.dealer(b"me")
    dealer.send([b"hello"])
    links.until(lambda: arrived)
    for _ in range(PER_TURN // 2):
        dealer.send([b"x"])
    sent = 0
    for number in range(10 * PER_TURN):
        if router.send(b"me", b"%d" % number) is not Delivery.SENT:
            break
        sent += 1
    while len(got) < sent:
        links.reactor.turn(10)
    assert [int(parts[0]) for parts in got] == list(range(sent))


def test_a_message_that_comes_while_its_receiver_sends_ends_the_next_wait(links: Links) -> None:
    """Sending takes note of what has come; a descriptor that tells of changes is then silent."""
    router, arrived = links.router()
    dealer, got = links.dealer(b"me")
    dealer.send([b"hello"])
    links.until(lambda: arrived)
    for number in range(20):
        assert router.send(b"me", b"%d" % number) is Delivery.SENT
        assert select.select([dealer.waitable], [], [], 20)[0]
        until = time.monotonic() + 0.005  # libzmq looks at what has come once a millisecond
        while time.monotonic() < until:
            dealer.send([b"more"])
        links.until(lambda number=number: got and got[-1] == [b"%d" % number])  # type: ignore[misc]


#: a process that connects and says hello, again and again
PEER = """
import sys, time
from heronpy.kernel.transport import Transport
dealer = Transport(local=sys.argv[1]).dealer_local(sys.argv[2], b"same")
while True:
    dealer.send([b"of the old"])
    dealer.receive()
    time.sleep(0.01)
"""


def test_the_successor_has_the_identity_of_a_frozen_process_and_a_dead_one_is_forgotten(links: Links) -> None:
    router, arrived = links.router()
    command = [sys.executable, "-c", PEER, links.kind, str(links.folder / "data")]
    with subprocess.Popen(command) as old:
        try:
            links.until(lambda: [b"same", b"of the old"] in arrived)
            assert router.send(b"same", b"to the old") is Delivery.SENT
            old.send_signal(signal.SIGSTOP)
            links.until(lambda: router.receive() is None)
            arrived.clear()
            new, got = links.dealer(b"same")
            new.send([b"of the new"])
            links.until(lambda: [b"same", b"of the new"] in arrived)
            assert router.send(b"same", b"to the new") is Delivery.SENT
            links.until(lambda: got)
            assert list(got) == [[b"to the new"]]
        finally:
            old.kill()
    old_lives_on = [parts for parts in arrived if parts[1] == b"of the old"]
    links.until(lambda: router.receive() is None)
    new.send([b"still me"])
    links.until(lambda: [b"same", b"still me"] in arrived)
    assert [parts for parts in arrived if parts[1] == b"of the old"] == old_lives_on
    links.close(new)
    links.until(lambda: router.send(b"same", b"x") is Delivery.UNKNOWN)


def test_strangers_at_the_socket_say_nothing_in_our_name_and_hold_no_one_up(links: Links) -> None:
    """ZeroMQ takes some noise for messages of its first version, by nobody: they are refused as frames."""
    _, arrived = links.router()
    dealer, _ = links.dealer(b"me")
    path = str(links.folder / "data")
    with contextlib.ExitStack() as held:
        for number in range(60):
            stranger = held.enter_context(socket.socket(socket.AF_UNIX))
            stranger.connect(path)
            begin = (b"", b"\xff" + bytes(8) + b"\x7f\x03\x00", b"\x02\x0e\0\0\0\xff\xff\xff\xff")[number % 3]
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                stranger.sendall(begin + random.randbytes(number))
            if number % 2:
                stranger.close()
            links.reactor.turn(0)
        dealer.send([b"hello"])
        links.until(lambda: [b"me", b"hello"] in arrived)
    dealer.send([b"good bye"])
    links.until(lambda: [b"me", b"good bye"] in arrived)
    ours = [message for message in arrived if message[0] == b"me"]
    assert ours == [[b"me", b"hello"], [b"me", b"good bye"]]
    assert links.kind == "zmq" or len(arrived) == 2


def test_a_process_that_user_code_forks_may_end_as_it_likes(links: Links) -> None:
    router, arrived = links.router()
    dealer, got = links.dealer(b"me")
    dealer.send([b"before"])
    links.until(lambda: arrived)
    child = os.fork()
    if child == 0:
        try:
            links.transport.close()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    dealer.send([b"after"])
    links.until(lambda: len(arrived) == 2)
    router.send(b"me", b"answer")
    links.until(lambda: got)


@pytest.mark.parametrize("linger", [0.5, 0.0])
def test_a_last_message_still_leaves_and_closing_gives_everything_back(links: Links, linger: float) -> None:
    def resources() -> tuple[int, int, list[str]]:
        threads = len(os.listdir("/proc/self/task"))
        return len(os.listdir("/proc/self/fd")), threads, os.listdir(links.folder)

    def use() -> None:
        other = Links(links.kind, links.folder)
        router, arrived = other.router("other")
        dealer, _ = other.dealer(b"me", "other")
        dealer.send([b"hello"])
        other.until(lambda: arrived)
        last = bytes(LIMIT) if linger else b"last"
        dealer.send([last])
        if linger:
            other.reactor.unregister(dealer)
            closing = threading.Thread(target=dealer.close, args=(linger,))
            closing.start()
            other.until(lambda: len(arrived) == 2)
            closing.join()
            # join() returns while the system still counts the thread
            other.until(lambda: not os.path.exists(f"/proc/self/task/{closing.native_id}"))
            assert arrived[1] == [b"me", last]
        other.close(router)
        other.end()

    use()
    before = resources()
    for _ in range(3):
        use()
    assert resources() == before
    if links.kind == "unix":  # libzmq leaves the file, which the folder's removal takes with it
        assert before[2] == []
