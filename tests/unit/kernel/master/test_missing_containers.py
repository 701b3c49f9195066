"""When the master asks for another container: once, and never because of its own troubles."""

from __future__ import annotations

from heronpy.kernel.master.knowledge.missing_containers import ALONE, MissingContainers

LOST = 60.0


def pass_time(lost: MissingContainers, now: float, until: float, *heard: int) -> list[tuple[int, float]]:
    """Look every second while these are heard of; who was asked for, and when."""
    asked = []
    while now < until:
        now += 1.0
        for container in heard:
            lost.on_heard(container)
        asked += [(container, now) for container in lost.look(now)]
    return asked


def watching(*containers: int) -> MissingContainers:
    lost = MissingContainers(containers, LOST)
    lost.look(0.0)
    return lost


def test_a_lost_container_is_asked_for_once_and_again_after_as_long_a_time() -> None:
    lost = watching(1, 2)
    assert pass_time(lost, 0.0, 10.0, 1, 2) == []
    assert pass_time(lost, 10.0, 200.0, 1) == [(2, 70.0), (2, 131.0), (2, 192.0)]
    assert lost.asked == {2: "not heard of for 61 s"}


def test_one_that_is_heard_of_again_needs_no_replacement() -> None:
    lost = watching(1, 2)
    assert not lost.on_heard(2)
    assert pass_time(lost, 0.0, 62.0, 1) == [(2, 61.0)]
    assert lost.on_heard(2)
    assert lost.asked == {}
    assert not lost.on_heard(2)


def test_one_that_was_never_heard_of_counts_from_the_masters_start() -> None:
    assert pass_time(watching(1, 2, 3), 0.0, 61.0, 1, 3) == [(2, 61.0)]
    assert pass_time(watching(1), 0.0, 61.0) == [(1, 61.0)]


def test_a_master_that_stood_still_blames_nobody() -> None:
    lost = watching(1, 2)
    pass_time(lost, 0.0, 10.0, 1, 2)
    assert lost.look(10_000.0) == {}
    assert pass_time(lost, 10_000.0, 10_030.0, 1, 2) == []


def test_a_master_that_hears_nobody_at_all_takes_itself_for_the_one_that_is_cut_off() -> None:
    lost = watching(1, 2)
    pass_time(lost, 0.0, 10.0, 1, 2)
    assert pass_time(lost, 10.0, 1000.0) == []
    # back again, it does not take those for lost whose next word is on its way
    assert pass_time(lost, 1000.0, 1000.0 + ALONE, 1) == []
    assert pass_time(lost, 1000.0 + ALONE, 1100.0, 1) == [(2, 1062.0)]


def test_one_that_is_being_started_gets_its_time_and_one_that_was_given_up_is_left_alone() -> None:
    lost = watching(1, 2)
    assert pass_time(lost, 0.0, 50.0, 1) == []
    lost.on_started(2)
    assert pass_time(lost, 50.0, 110.0, 1) == []
    lost.on_heard(1)
    assert lost.look(111.0, given_up={2}) == {}
    assert lost.asked == {}
    lost.on_heard(1)
    assert lost.look(112.0) == {2: "not heard of for 62 s"}


def test_a_stranger_is_of_no_concern() -> None:
    lost = watching(1)
    assert not lost.on_heard(9)
    assert pass_time(lost, 0.0, 100.0, 1) == []


def test_only_the_containers_of_the_plan_in_force_are_asked_for() -> None:
    lost = MissingContainers([1, 2], 8.0)
    lost.expect([1, 3])
    for now in range(9):
        lost.look(float(now))
        lost.on_heard(1)
    assert lost.look(9.0) == {3: "not heard of for 9 s"}
    assert list(lost.asked) == [3]
    lost.expect([1])
    assert lost.asked == {}
