"""Hundreds of random fault schedules in virtual time; whatever goes wrong, every promise is kept."""

from __future__ import annotations

import os
import random

import pytest
from support.simulation.run import PROFILES, Outcome, Profile, profile_of, run_many, run_schedule

#: all together; `make chaos` asks for more
SCHEDULES = int(os.environ.get("SIMULATION_SCHEDULES", "300"))


def base_seed() -> int:
    seed = int(os.environ.get("SIMULATION_SEED", random.randrange(10**9)))
    print(f"base seed: SIMULATION_SEED={seed}")
    return seed


def schedules(profile: Profile) -> list[Outcome]:
    first = base_seed()
    found = run_many([seed for seed in range(first, first + SCHEDULES) if profile_of(seed) == profile])
    failed = [outcome for outcome in found if outcome.failures]
    assert not failed, f"{len(failed)} of {len(found)} schedules\n" + "\n".join(map(str, failed[:5]))
    return found


def hit(outcomes: list[Outcome], name: str) -> int:
    """In how many schedules this was seen."""
    return sum(getattr(outcome, name) > 0 for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_links_that_break_lose_repeat_and_reorder_nothing() -> None:
    outcomes = schedules("links")
    assert sum(outcome.lost + outcome.duplicated for outcome in outcomes) == 0
    for evidence in ("resent", "repeated", "rejected"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_at_least_once_loses_nothing_whatever_dies_freezes_or_comes_back() -> None:
    outcomes = schedules("tracked")
    assert sum(outcome.lost for outcome in outcomes) == 0
    for evidence in ("replayed", "duplicated", "missing", "rejected", "fenced"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_at_most_once_repeats_nothing_and_tells_how_much_it_lost() -> None:
    outcomes = schedules("untracked")
    assert sum(outcome.duplicated for outcome in outcomes) == 0
    for evidence in ("lost", "missing", "maybe_lost", "rejected", "fenced"):
        assert hit(outcomes, evidence) > 0, f"no fault was hit by: {evidence}"


def test_a_few_schedules_of_each_kind() -> None:
    first = base_seed()
    for seed in range(first, first + 4 * len(PROFILES)):
        outcome = run_schedule(seed)
        assert not outcome.failures, str(outcome)
        assert outcome.tuples in (500, 1000)
