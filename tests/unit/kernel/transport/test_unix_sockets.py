"""Who may connect over a unix socket, and what a socket does with its path."""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.faults.second_account import STRANGER, shared_folder
from support.suite.needs import needs_second_account

from heronpy.kernel.errors import UserError
from heronpy.kernel.transport import Delivery, Transport, unix_sockets
from heronpy.kernel.transport.unix_connection import GREETING, pack
from heronpy.kernel.transport.unix_sockets import UnixDealer, UnixRouter

LIMIT = 1 << 20


@pytest.fixture
def router(tmp_path: Path) -> Iterator[UnixRouter]:
    with contextlib.closing(UnixRouter(str(tmp_path / "data"), LIMIT)) as made:
        yield made


@contextlib.contextmanager
def dealer_at(path: Path) -> Iterator[UnixDealer]:
    with contextlib.closing(UnixDealer(str(path), b"me", LIMIT)) as made:
        yield made


def received(socket: UnixRouter | UnixDealer) -> list[bytes]:
    deadline = time.monotonic() + 10
    while (parts := socket.receive()) is None:
        assert time.monotonic() < deadline
        select.select([socket.waitable], [], [], 0.02)
    return parts


def look(router: UnixRouter) -> None:
    """Serve whatever is there, of which nothing is a message."""
    for _ in range(3):
        assert router.receive() is None


def in_another_account(act: Callable[[], bool]) -> bool:
    """What a process of another account makes of it; forked, because it may not even execute our Python."""
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1)
    return status == 0


def test_another_account_is_turned_away_even_where_the_path_is_open_to_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    needs_second_account()
    with shared_folder() as shared:
        (shared / "1").mkdir(mode=0o700)
        path = shared / "1" / "data"
        with contextlib.closing(UnixRouter(str(path), LIMIT)) as router:

            def connects() -> bool:
                with socket.socket(socket.AF_UNIX) as stranger:
                    try:
                        stranger.connect(str(path))
                        stranger.sendall(b"".join([*pack([GREETING, b"me"]), *pack([b"let me in"])]))
                    except PermissionError:
                        return False
                    return True

            assert not in_another_account(connects)
            path.parent.chmod(0o777)
            path.chmod(0o666)
            assert in_another_account(connects)
            look(router)
            assert router.refused == 1
            assert router.send(b"me", b"secret") is Delivery.UNKNOWN
            assert f"closed a connection at {path}: it is of another user" in caplog.text


def test_a_listener_of_another_account_is_sent_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It has taken the place of the folder, or got into it."""
    needs_second_account()
    with shared_folder() as shared:
        for folder, owner in ((shared / "theirs", STRANGER), (shared / "ours", os.geteuid())):
            folder.mkdir(mode=0o700)
            with socket.socket(socket.AF_UNIX) as trap:
                trap.bind(str(folder / "data"))
                _listen_as_stranger(trap)
                os.chown(folder, owner, -1)
                with dealer_at(folder / "data") as dealer:
                    dealer.send([b"secret"])
                    trap.settimeout(0.2)
                    with contextlib.suppress(TimeoutError):
                        connected, _ = trap.accept()
                        with connected:
                            assert connected.recv(100) == b""
        complaints = caplog.text
    assert "theirs belongs to user" in complaints
    assert "ours/data: another user listens there" in complaints


def _listen_as_stranger(trap: socket.socket) -> None:
    """The kernel notes who has called listen()."""
    os.seteuid(STRANGER)
    try:
        trap.listen()
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o710])
def test_a_folder_that_is_open_to_others_is_neither_listened_in_nor_connected_to(
    tmp_path: Path, router: UnixRouter, mode: int
) -> None:
    (tmp_path / "open").mkdir(mode=0o700)
    (tmp_path / "open").chmod(mode)
    with pytest.raises(
        UserError, match=rf"cannot listen on .*open is open to other accounts \(mode {mode:04o}\)"
    ):
        UnixRouter(str(tmp_path / "open" / "data"), LIMIT)
    tmp_path.chmod(mode)
    with dealer_at(tmp_path / "data") as dealer:
        assert dealer.send([b"hello"])
        look(router)
        tmp_path.chmod(0o700)
        dealer.receive()
        while (parts := router.receive()) is None:
            dealer.receive()
    assert parts == [b"me", b"hello"]


def test_who_does_not_greet_is_closed_and_counted_and_few_may_wait(
    router: UnixRouter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(unix_sockets, "MOST_UNFINISHED", 8)
    said = [
        b"\xff" + bytes(8) + b"\x7f\x03\x00",  # as a ZeroMQ peer begins
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(100),
        b"".join(pack([b"another greeting", b"me"])),
        b"".join(pack([GREETING, b""])),
        b"".join(pack([GREETING, b"me", b"more"])),
        b"".join(pack([GREETING, bytes(256)])),
    ]
    with contextlib.ExitStack() as held:

        def knock(words: bytes) -> socket.socket:
            stranger = held.enter_context(socket.socket(socket.AF_UNIX))
            stranger.connect(str(tmp_path / "data"))
            stranger.sendall(words)
            return stranger

        for words in said:
            stranger = knock(words)
            look(router)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
        assert router.refused == len(said)
        silent = [knock(b"") for _ in range(8)]
        look(router)
        assert router.refused == len(said)
        with dealer_at(tmp_path / "data") as dealer:
            dealer.send([b"hello"])
            assert received(router) == [b"me", b"hello"]
        assert router.refused == len(said) + 1
        assert silent[0].recv(1) == b""


def test_bytes_that_are_no_message_end_the_connection_of_their_sender_alone(
    router: UnixRouter, tmp_path: Path
) -> None:
    with dealer_at(tmp_path / "data") as dealer, socket.socket(socket.AF_UNIX) as bad:
        dealer.send([b"before"])
        bad.connect(str(tmp_path / "data"))
        bad.sendall(b"".join([*pack([GREETING, b"bad"]), *pack([b"good so far"])]))
        assert sorted([received(router), received(router)]) == [[b"bad", b"good so far"], [b"me", b"before"]]
        bad.sendall(b"\x09")
        look(router)
        assert router.send(b"bad", b"x") is Delivery.UNKNOWN
        assert router.refused == 1
        dealer.send([b"after"])
        assert received(router) == [b"me", b"after"]


def test_any_cut_of_the_bytes_gives_the_same_messages(router: UnixRouter, tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    messages = [
        [dice.randbytes(dice.choice([0, 1, 46, 500])) for _ in range(dice.randint(1, 4))] for _ in range(60)
    ]
    text = b"".join(b"".join(pack(message)) for message in [[GREETING, b"me"], *messages])
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(tmp_path / "data"))
        arrived: list[list[bytes]] = []
        at = 0
        while at < len(text):
            cut = at + dice.choice([1, 2, 7, 100, 5000])
            sender.sendall(text[at:cut])
            at = cut
            for _ in range(3):
                while (parts := router.receive()) is not None:
                    arrived.append(parts)
    assert arrived == [[b"me", *message] for message in messages]


def test_what_a_process_has_sent_before_it_died_is_heard(router: UnixRouter, tmp_path: Path) -> None:
    with dealer_at(tmp_path / "data") as dealer:
        dealer.send([b"hello"])
        assert received(router) == [b"me", b"hello"]
        for number in range(20):
            dealer.send([b"%d" % number, bytes(5000)])
    assert router.send(b"me", b"too late") is Delivery.UNKNOWN
    assert [int(received(router)[1]) for _ in range(20)] == list(range(20))


def test_a_message_that_was_cut_off_with_its_listener_goes_to_the_next_one_whole(tmp_path: Path) -> None:
    path, large = str(tmp_path / "data"), random.randbytes(LIMIT)
    with contextlib.closing(UnixRouter(path, LIMIT)) as first, dealer_at(tmp_path / "data") as dealer:
        dealer.send([b"hello"])
        assert received(first) == [b"me", b"hello"]
        for _ in range(5):  # more than the kernel holds
            assert dealer.send([large])
        first.receive()
        first.close()
        with contextlib.closing(UnixRouter(path, LIMIT)) as second:
            arrived: list[list[bytes]] = []
            deadline = time.monotonic() + 10
            while len(arrived) < 2:
                assert time.monotonic() < deadline
                dealer.receive()
                if (parts := second.receive()) is not None:
                    arrived.append(parts)
    assert arrived == [[b"me", large]] * 2


def test_the_path_is_this_accounts_alone_and_is_left_to_a_successor(tmp_path: Path) -> None:
    path = tmp_path / "data"
    before = os.umask(0)
    try:
        old = UnixRouter(str(path), LIMIT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    new = UnixRouter(str(path), LIMIT)
    old.close()
    with dealer_at(path) as dealer:
        dealer.send([b"hello"])
        assert received(new) == [b"me", b"hello"]
    new.close()
    new.close()
    assert not path.exists()


def test_a_path_that_cannot_be_used_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        UnixRouter(str(tmp_path / "missing" / "data"), LIMIT)
    assert str(caught.value) == (
        f"cannot listen on unix://{tmp_path}/missing/data: No such file or directory"
        " (try: submit the topology again, or pass --set transport.local=zmq)"
    )


def test_a_process_with_unix_links_alone_has_no_thread_of_zeromq(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/task")
    with Transport(local="unix") as transport:
        router = transport.router_local(str(tmp_path / "data"))
        dealer = transport.dealer_local(str(tmp_path / "data"), b"me")
        dealer.send([b"hello"])
        assert router.receive() == [b"me", b"hello"]
        assert os.listdir("/proc/self/task") == before
