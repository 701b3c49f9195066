"""Residents: the newest incarnation of a task is heard, and what is news."""

from __future__ import annotations

from heronpy.kernel.protocol import InstanceBeat
from heronpy.stream_manager.residents import Change, Residents


def beat(task: int, incarnation: int, state: str = "running", **more: str) -> InstanceBeat:
    return InstanceBeat(task=task, incarnation=incarnation, state=state, **more)  # type: ignore[arg-type]


def test_a_first_beat_is_an_arrival_and_a_repeat_is_no_news() -> None:
    residents = Residents()
    assert residents.on_beat(b"a", beat(1, 1)) == Change(news=True, arrived=True)
    assert residents.on_beat(b"a", beat(1, 1)) == Change(news=False, arrived=False)


def test_another_state_error_or_life_is_news() -> None:
    residents = Residents()
    residents.on_beat(b"a", beat(1, 1, "starting"))
    for changed in (beat(1, 1), beat(1, 1, live="PAUSED"), beat(1, 1, "failed", error="ZeroDivisionError")):
        assert residents.on_beat(b"a", changed) == Change(news=True, arrived=False)
    busy = beat(1, 1, "failed", error="ZeroDivisionError", busy="process() for 12 s")
    assert not residents.on_beat(b"a", busy).news
    assert residents.beats() == [busy]


def test_a_successor_replaces_and_a_zombie_is_not_heard() -> None:
    residents = Residents()
    residents.on_beat(b"old", beat(1, 1))
    assert residents.on_beat(b"new", beat(1, 2)) == Change(news=True, arrived=True)
    assert residents.on_beat(b"old", beat(1, 1, "failed")) == Change(False, False)
    assert residents.identities() == [b"new"]
    assert residents.beats() == [beat(1, 2)]


def test_beats_and_identities_are_in_the_same_order() -> None:
    residents = Residents()
    for task in (3, 1, 2):
        residents.on_beat(b"%d" % task, beat(task, 1))
    assert [each.task for each in residents.beats()] == [1, 2, 3]
    assert residents.identities() == [b"1", b"2", b"3"]


def test_who_left_the_plan_is_not_spoken_for_until_it_speaks_again() -> None:
    residents = Residents()
    for task in (1, 2, 3):
        residents.on_beat(b"%d" % task, beat(task, 1))
    residents.retain({1, 3, 4})
    assert residents.beats() == [beat(1, 1), beat(3, 1)]
    assert residents.identities() == [b"1", b"3"]
    assert residents.on_beat(b"2", beat(2, 1)) == Change(news=True, arrived=True)
