"""Links towards us: each number once, and only from the newest incarnation of a container."""

from __future__ import annotations

import pytest

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.peer_link import FRAME, MISSING, RECEIVED, SYNC
from heronpy.kernel.machine.addresses import container_identity
from heronpy.stream_manager.inbound import Inbound

OLD, NEW = (container_identity(2, incarnation) for incarnation in (7, 8))


def head(kind: int, number: int) -> bytes:
    return bytes([kind]) + number.to_bytes(8, "little")


def test_each_frame_is_taken_once_and_the_sender_hears_how_far_we_are() -> None:
    inbound = Inbound()
    assert [inbound.accept(OLD, head(FRAME, number)) for number in (0, 1, 1, 0)] == [True, True, False, False]
    assert inbound.replies() == [(OLD, head(RECEIVED, 2))]
    assert inbound.replies() == []
    assert not inbound.accept(OLD, head(SYNC, 3))
    assert inbound.replies() == [(OLD, head(MISSING, 2))]


@pytest.mark.parametrize("registered_first", [True, False])
def test_a_successor_begins_anew_and_what_was_counted_stays_counted(registered_first: bool) -> None:
    """The number of repeats is a counter: it must not fall when a link ends."""
    inbound = Inbound()
    for number in (0, 0, 0):
        inbound.accept(OLD, head(FRAME, number))
    assert inbound.repeated == 2
    if registered_first:
        inbound.fence(2, 8)
        assert inbound.repeated == 2
    assert inbound.accept(NEW, head(FRAME, 0))
    assert not inbound.accept(NEW, head(FRAME, 0))
    assert inbound.repeated == 3
    with pytest.raises(ProtocolError, match="it has been replaced"):
        inbound.accept(OLD, head(FRAME, 1))


def test_a_container_that_left_the_plan_may_come_back_and_what_was_counted_stays_counted() -> None:
    inbound = Inbound()
    for number in (0, 0):
        inbound.accept(NEW, head(FRAME, number))
    inbound.forget(2)
    inbound.forget(9)
    assert inbound.repeated == 1
    assert inbound.accept(OLD, head(FRAME, 0))


def test_a_container_that_comes_back_as_the_same_process_goes_on_where_it_was() -> None:
    inbound = Inbound()
    inbound.fence(2, 8, "key")
    assert inbound.accept(NEW, head(FRAME, 0))
    inbound.fence(2, 8, "key")
    assert inbound.accept(NEW, head(FRAME, 1))
    inbound.fence(2, 8, "another key")
    assert inbound.accept(NEW, head(FRAME, 0))
    inbound.fence(2, 7, "a third key")
    assert inbound.accept(OLD, head(FRAME, 0))
