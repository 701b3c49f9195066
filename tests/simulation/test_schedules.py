"""Hundreds of drawn fault schedules in virtual time; whatever goes wrong, every promise is kept."""

from __future__ import annotations

import os

import pytest
from support.simulation.run import PROFILES, Outcome, Profile, profile_of, run_many, run_schedule

#: all together; `make chaos` asks for more
SCHEDULES = int(os.environ.get("SIMULATION_SCHEDULES", "300"))
#: of the first schedule: the same in every run, unless others are asked for
SEED = int(os.environ.get("SIMULATION_SEED", "1"))

#: each half is a test of its own, so that two workers share them
halves = pytest.mark.parametrize("half", [0, 1])


def schedules(profile: Profile, half: int) -> list[Outcome]:
    print(f"SIMULATION_SEED={SEED}")
    suited = [seed for seed in range(SEED, SEED + SCHEDULES) if profile_of(seed) == profile]
    found = run_many(suited[half::2])
    failed = [outcome for outcome in found if outcome.failures]
    assert not failed, f"{len(failed)} of {len(found)} schedules\n" + "\n".join(map(str, failed[:5]))
    return found


def hit(outcomes: list[Outcome], name: str) -> int:
    """In how many schedules this was seen."""
    return sum(getattr(outcome, name) > 0 for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@halves
def test_links_that_break_lose_repeat_and_reorder_nothing(half: int) -> None:
    outcomes = schedules("links", half)
    assert sum(outcome.lost + outcome.duplicated for outcome in outcomes) == 0
    for evidence in ("resent", "repeated", "rejected"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@halves
def test_at_least_once_loses_nothing_whatever_dies_freezes_or_comes_back(half: int) -> None:
    outcomes = schedules("tracked", half)
    assert sum(outcome.lost for outcome in outcomes) == 0
    for evidence in ("replayed", "duplicated", "missing", "rejected", "fenced"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@halves
def test_at_most_once_repeats_nothing_and_tells_how_much_it_lost(half: int) -> None:
    outcomes = schedules("untracked", half)
    assert sum(outcome.duplicated for outcome in outcomes) == 0
    for evidence in ("lost", "missing", "maybe_lost", "rejected", "fenced"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


def test_a_few_schedules_of_each_kind() -> None:
    for seed in range(SEED, SEED + 4 * len(PROFILES)):
        outcome = run_schedule(seed)
        assert not outcome.failures, str(outcome)
        assert outcome.tuples in (500, 1000)
