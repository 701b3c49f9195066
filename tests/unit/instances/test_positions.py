"""What a task that dies leaves: how far it was, for its successor to tell."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from heronpy.instances.positions import KEPT, Sent, WorkedOff
from heronpy.kernel.flow.credit import HELLO, Grant, LastWord


def told(sent: Sent, receiver: int) -> tuple[LastWord, ...]:
    return tuple(sent.last_words(receiver))


def test_a_successor_knows_how_far_its_predecessor_was(tmp_path: Path) -> None:
    first = Sent.begin(tmp_path, task=4, incarnation=7, receivers=2)
    assert told(first, 1) == ()
    for sent in range(10):
        first.note(1, sent, 0)
    first.note(0, 3, 1000)
    Sent.begin(tmp_path, task=41, incarnation=8, receivers=2).note(1, 99, 0)

    second = Sent.begin(tmp_path, task=4, incarnation=9, receivers=2)
    assert told(second, 1) == (LastWord(7, 9, 0),)
    assert told(second, 0) == (LastWord(7, 3, 1000),)
    assert told(second, 2) == ()


def test_one_that_dies_unheard_leaves_the_telling_to_the_next(tmp_path: Path) -> None:
    for life in range(1, KEPT + 4):
        Sent.begin(tmp_path, 4, life, 1).note(1, 10 * life, life)
    last = Sent.begin(tmp_path, 4, 100, 1)
    assert told(last, 1) == tuple(LastWord(life, 10 * life, life) for life in range(4, KEPT + 4))
    assert len(list((tmp_path / "sent").iterdir())) == KEPT + 1


def test_more_receivers_than_there_is_room_for_are_not_told(tmp_path: Path) -> None:
    positions = Sent.begin(tmp_path, 4, 1, receivers=1)
    for receiver in range(100):
        positions.note(receiver, receiver, 0)
    again = Sent.begin(tmp_path, 4, 2, receivers=1)
    assert told(again, 15) == (LastWord(1, 15, 0),)
    assert told(again, 16) == ()


def test_a_full_disk_costs_the_exact_count_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    positions = Sent.begin(tmp_path, 4, 1, receivers=1)
    positions.note(1, 5, 0)
    assert list((tmp_path / "sent").iterdir()) == []


def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    Sent.begin(tmp_path, 4, 1, receivers=2).note(1, 5, 0)
    (written,) = (tmp_path / "sent").iterdir()
    for size in (24, 13, 0):
        os.truncate(written, size)
        expected = (LastWord(1, 5, 0),) if size == 24 else ()
        assert told(Sent.begin(tmp_path, 4, 2, receivers=2), 1) == expected


def test_a_successor_tells_emitters_what_was_done(tmp_path: Path) -> None:
    first = WorkedOff.begin(tmp_path, 4, 1, emitters=2)
    assert first.hello(1) == HELLO
    first.note(1, 7, 30)
    first.note(1, 7, 40)
    first.note(2, 8, 5)
    WorkedOff.begin(tmp_path, 4, 2, emitters=2).note(2, 9, 1)  # has not heard of the other one
    third = WorkedOff.begin(tmp_path, 4, 3, emitters=2)
    assert third.hello(1) == Grant(7, 40, limit=0)
    assert third.hello(2) == Grant(9, 1, limit=0)
    assert third.hello(3) == HELLO
