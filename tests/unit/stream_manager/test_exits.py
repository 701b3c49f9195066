"""Exits: frames leave in order, wait when they must, and go to the successor."""

from __future__ import annotations

import pytest

from heronpy.kernel.transport import Delivery
from heronpy.stream_manager import exits
from heronpy.stream_manager.exits import Exit


class Doorway:
    """A door that takes so many frames before it is full."""

    def __init__(self, room: int, otherwise: Delivery = Delivery.FULL) -> None:
        self.room = room
        self.otherwise = otherwise
        self.taken: list[bytes] = []

    def push(self, prefix: bytes, payload: bytes) -> Delivery:
        if self.room == 0:
            return self.otherwise
        self.room -= 1
        self.taken.append(prefix)
        return Delivery.SENT


def frame(number: int) -> tuple[bytes, bytes]:
    return b"%d" % number, bytes(100)


@pytest.mark.parametrize("otherwise", [Delivery.FULL, Delivery.UNKNOWN])
def test_what_does_not_go_now_waits_and_order_is_kept(otherwise: Delivery) -> None:
    door = Doorway(2, otherwise)
    out = Exit()
    out.door = door
    assert [out.send(*frame(number)) for number in range(4)] == [True, True, False, False]
    door.room = 1
    assert not out.send(*frame(4)), "must not overtake those who wait"
    assert (len(out), out.bytes_held) == (3, 300)
    assert not out.retry()
    door.room = 100
    assert out.retry()
    assert door.taken == [b"0", b"1", b"2", b"3", b"4"]
    assert (len(out), out.bytes_held, out.dropped) == (0, 0, 0)


def test_without_a_door_everything_waits() -> None:
    out = Exit()
    assert not out.send(*frame(0))
    assert not out.retry()
    assert len(out) == 1


def test_a_successor_gets_what_its_predecessor_was_never_sent() -> None:
    old, new = Doorway(1), Doorway(100)
    out = Exit()
    out.door = old
    for number in range(3):
        out.send(*frame(number))
    out.door = new
    assert out.retry()
    assert (old.taken, new.taken) == ([b"0"], [b"1", b"2"])


def test_a_backlog_beyond_all_credit_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exits, "MAX_BACKLOG_BYTES", 250)
    out = Exit()
    for number in range(4):
        out.send(*frame(number))
    assert (len(out), out.bytes_held, out.dropped) == (2, 200, 2)
