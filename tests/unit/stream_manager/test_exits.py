"""Exits: frames leave in order, wait when they must, and go to the successor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from heronpy.kernel.flow.peer_link import MISSING, RECEIVED, SYNC, decode_head
from heronpy.kernel.transport import Delivery
from heronpy.stream_manager import exits
from heronpy.stream_manager.exits import InstanceExit, PeerExit


class Doorway:
    """A socket that takes so many frames before it is full."""

    def __init__(self, room: int, otherwise: Delivery = Delivery.FULL) -> None:
        self.room = room
        self.otherwise = otherwise
        self.taken: list[tuple[bytes, bytes]] = []

    def send(self, identity: bytes, *parts: bytes) -> Delivery:
        if self.room == 0:
            return self.otherwise
        self.room -= 1
        self.taken.append((identity, parts[0]))
        return Delivery.SENT


class Peer:
    """A connection to another Stream Manager: what went out, and what is to come back."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.frames: list[bytes] = []
        self.syncs: list[int] = []
        self.replies: deque[bytes] = deque()

    def send(self, parts: tuple[bytes, ...]) -> bool:
        if self.room == 0:
            return False
        self.room -= 1
        kind, number = decode_head(parts[0])
        if kind == SYNC:
            self.syncs.append(number)
        else:
            self.frames.append(parts[1])
        return True

    def receive(self) -> list[bytes] | None:
        return [self.replies.popleft()] if self.replies else None


def frame(number: int) -> tuple[bytes, bytes]:
    return b"%d" % number, bytes(100)


def reply(kind: int, number: int) -> bytes:
    return bytes([kind]) + number.to_bytes(8, "little")


@pytest.mark.parametrize("otherwise", [Delivery.FULL, Delivery.UNKNOWN])
def test_what_does_not_go_now_waits_and_order_is_kept(otherwise: Delivery) -> None:
    door = Doorway(2, otherwise)
    out = InstanceExit(door)
    out.admit(b"me")
    assert [out.send(*frame(number)) for number in range(4)] == [True, True, False, False]
    door.room = 1
    assert not out.send(*frame(4)), "must not overtake those who wait"
    assert (len(out), out.bytes_held) == (3, 300)
    assert not out.retry()
    door.room = 100
    assert out.retry()
    assert door.taken == [(b"me", b"%d" % number) for number in range(5)]
    assert (len(out), out.bytes_held, out.dropped) == (0, 0, 0)


def test_without_anybody_there_everything_waits() -> None:
    out = InstanceExit(Doorway(100))
    assert not out.send(*frame(0))
    assert not out.retry()
    assert len(out) == 1


def test_a_successor_gets_what_its_predecessor_was_never_sent() -> None:
    door = Doorway(1)
    out = InstanceExit(door)
    out.admit(b"old")
    for number in range(3):
        out.send(*frame(number))
    door.room = 100
    out.admit(b"new")
    assert out.retry()
    assert door.taken == [(b"old", b"0"), (b"new", b"1"), (b"new", b"2")]


@pytest.mark.parametrize("make", [lambda: InstanceExit(Doorway(0)), PeerExit], ids=["instance", "peer"])
@pytest.mark.parametrize(("limit", "value"), [("MAX_BACKLOG_BYTES", 250), ("MAX_BACKLOG_FRAMES", 2)])
def test_a_backlog_beyond_all_credit_is_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], InstanceExit | PeerExit], limit: str, value: int
) -> None:
    monkeypatch.setattr(exits, limit, value)
    out = make()
    for number in range(4):
        out.send(*frame(number))
    assert (len(out), out.bytes_held, out.dropped) == (2, 200, 2)


def test_frames_to_a_peer_are_kept_until_it_confirms_them() -> None:
    out, peer = PeerExit(), Peer()
    out.connect(peer, 1)
    for number in range(3):
        assert out.send(*frame(number))
    assert (len(out), out.bytes_held) == (0, 300)
    peer.replies.append(reply(RECEIVED, 2))
    out.on_replies()
    assert out.bytes_held == 100


def test_what_a_peer_misses_is_sent_again_in_order() -> None:
    out, peer = PeerExit(), Peer()
    out.connect(peer, 1)
    for number in range(4):
        out.send(*frame(number))
    peer.replies.append(reply(MISSING, 1))
    out.on_replies()
    assert out.retry()
    assert peer.frames == [b"0", b"1", b"2", b"3", b"1", b"2", b"3"]
    assert out.resent == 3


def test_a_silent_peer_is_asked_at_longer_and_longer_intervals_until_it_speaks() -> None:
    out, peer = PeerExit(), Peer()
    out.connect(peer, 1)
    assert not out.ask(0.0), "there is nothing for it"
    out.send(*frame(0))
    asked_at = []
    for tick in range(80):
        before = len(peer.syncs)
        assert out.ask(1 + tick / 20)
        if len(peer.syncs) > before:
            asked_at.append(tick / 20)
    assert asked_at == pytest.approx([0.1, 0.3, 0.7, 1.5, 2.5, 3.5], abs=0.06)
    assert set(peer.syncs) == {1}
    peer.replies.append(reply(RECEIVED, 1))
    out.on_replies()
    assert not out.ask(10.0)


def test_frames_that_waited_for_a_connection_are_asked_for_when_it_loses_them() -> None:
    out, peer = PeerExit(), Peer()
    out.send(*frame(0))
    assert out.ask(0.0), "they leave as soon as there is a connection, and nobody looks at us then"
    out.connect(peer, 1)
    assert out.retry()
    assert [out.ask(now) for now in (1.0, 2.0)] == [True, True]
    assert peer.syncs == [1]


def test_frames_that_are_sent_again_do_not_count_twice_against_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exits, "MAX_BACKLOG_FRAMES", 4)
    out, peer = PeerExit(), Peer(3)
    out.connect(peer, 1)
    for number in range(3):
        out.send(*frame(number))
    peer.replies.append(reply(MISSING, 0))
    out.on_replies()
    out.send(*frame(3))
    assert (len(out), out.dropped) == (4, 0)
    out.send(*frame(4))
    assert (len(out), out.dropped) == (4, 1)


def test_a_new_incarnation_never_gets_what_the_old_one_may_have_had() -> None:
    out, old, new = PeerExit(), Peer(2), Peer()
    out.connect(old, 1)
    for number in range(5):
        out.send(*frame(number))
    assert old.frames == [b"0", b"1"]
    assert out.connect(new, 2) == 2
    assert out.retry()
    assert new.frames == [b"2", b"3", b"4"]


def test_the_same_incarnation_on_a_new_connection_is_the_same_link() -> None:
    out, first, second = PeerExit(), Peer(2), Peer()
    out.connect(first, 7)
    for number in range(3):
        out.send(*frame(number))
    assert out.connect(second, 7) == 0
    assert out.retry()
    second.replies.append(reply(MISSING, 0))
    out.on_replies()
    assert out.retry()
    assert second.frames == [b"2", b"0", b"1", b"2"]


@pytest.mark.parametrize(("key", "goes_on"), [("the same", True), ("another", False)])
def test_a_container_that_left_and_came_back_is_told_apart_by_its_key(key: str, goes_on: bool) -> None:
    """Another process begins anew, though containers that come back count their incarnations from one."""
    out, before, after = PeerExit(), Peer(room=3), Peer()
    out.connect(before, 1, "the same")
    for number in range(5):
        out.send(*frame(number))
    before.replies.append(reply(RECEIVED, 2))
    out.on_replies()
    out.park()
    assert (len(out), out.unconfirmed, out.bytes_held) == (0, 1, 100)
    assert out.connect(after, 1, key) == (0 if goes_on else 1)
    out.send(*frame(5))
    assert after.frames == [b"5"]
    after.replies.append(reply(MISSING, 2 if goes_on else 0))
    out.on_replies()
    assert out.retry()
    assert after.frames == ([b"5", b"2", b"5"] if goes_on else [b"5", b"5"])
