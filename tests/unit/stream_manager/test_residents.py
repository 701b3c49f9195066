"""Residents: the newest incarnation in a slot is heard, with all its tasks, and what is news."""

from __future__ import annotations

from heronpy.kernel.protocol import InstanceBeat, ProcessBeat
from heronpy.stream_manager.residents import Change, Resident, Residents


def beat(slot: int, incarnation: int, *instances: InstanceBeat, live: str = "") -> ProcessBeat:
    """Of a process; with one task, which runs, unless said."""
    held = instances or (InstanceBeat(task=slot, state="running"),)
    return ProcessBeat(slot=slot, incarnation=incarnation, live=live, instances=held)


def test_a_first_beat_is_an_arrival_and_a_repeat_is_no_news() -> None:
    residents = Residents()
    assert residents.on_beat(b"a", beat(1, 1)) == Change(news=True, arrived=True)
    assert residents.on_beat(b"a", beat(1, 1)) == Change(news=False, arrived=False)


def test_another_state_error_or_life_is_news() -> None:
    residents = Residents()
    residents.on_beat(b"a", beat(1, 1, InstanceBeat(task=1, state="starting")))
    failed = InstanceBeat(task=1, state="failed", error="ZeroDivisionError")
    for changed in (beat(1, 1), beat(1, 1, live="PAUSED"), beat(1, 1, failed)):
        assert residents.on_beat(b"a", changed) == Change(news=True, arrived=False)
    failed.busy = "process() for 12 s"
    assert not residents.on_beat(b"a", beat(1, 1, failed)).news
    assert residents.processes() == [Resident(b"a", beat(1, 1, failed))]


def test_a_change_of_any_task_is_news_of_its_process() -> None:
    residents = Residents()
    tasks = [InstanceBeat(task=task, state="running") for task in (1, 2, 3)]
    residents.on_beat(b"a", beat(1, 1, *tasks))
    tasks[2].state = "paused"
    assert residents.on_beat(b"a", beat(1, 1, *tasks)) == Change(news=True, arrived=False)
    tasks[1].busy = "process() for 12 s"
    assert residents.on_beat(b"a", beat(1, 1, *tasks)) == Change(news=False, arrived=False)


def test_a_process_that_gets_or_loses_a_task_is_admitted_anew() -> None:
    residents = Residents()
    tasks = [InstanceBeat(task=task, state="running") for task in (1, 2, 3)]
    residents.on_beat(b"a", beat(1, 1, *tasks[:2]))
    assert residents.on_beat(b"a", beat(1, 1, *tasks)) == Change(news=True, arrived=True)
    assert residents.on_beat(b"a", beat(1, 1, *tasks[1:])) == Change(news=True, arrived=True)
    assert residents.on_beat(b"a", beat(1, 1, *tasks[1:])) == Change(news=False, arrived=False)


def test_a_successor_replaces_and_a_zombie_is_not_heard() -> None:
    residents = Residents()
    residents.on_beat(b"old", beat(1, 1))
    assert residents.on_beat(b"new", beat(1, 2)) == Change(news=True, arrived=True)
    zombie = beat(1, 1, InstanceBeat(task=1, state="failed"))
    assert residents.on_beat(b"old", zombie) == Change(False, False)
    assert residents.processes() == [Resident(b"new", beat(1, 2))]


def test_a_successor_replaces_a_process_for_all_its_tasks() -> None:
    residents = Residents()
    tasks = [InstanceBeat(task=task, state="running") for task in (1, 2, 3)]
    residents.on_beat(b"old", beat(1, 1, *tasks))
    residents.on_beat(b"new", beat(1, 2, *tasks))
    residents.on_beat(b"old", beat(1, 1, *tasks[:1]))
    (resident,) = residents.processes()
    assert (resident.identity, resident.tasks) == (b"new", [1, 2, 3])


def test_processes_are_in_the_order_of_their_slots() -> None:
    residents = Residents()
    for slot in (3, 1, 2):
        residents.on_beat(b"%d" % slot, beat(slot, 1))
    assert [each.identity for each in residents.processes()] == [b"1", b"2", b"3"]


def test_who_left_the_plan_is_not_spoken_for_until_it_speaks_again() -> None:
    residents = Residents()
    for slot in (1, 2, 3):
        residents.on_beat(b"%d" % slot, beat(slot, 1))
    residents.retain({1, 3, 4})
    assert residents.processes() == [Resident(b"1", beat(1, 1)), Resident(b"3", beat(3, 1))]
    assert residents.on_beat(b"2", beat(2, 1)) == Change(news=True, arrived=True)
