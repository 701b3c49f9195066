"""Engines with one thing wrong are caught by the very schedules and oracles that the real one passes."""

from __future__ import annotations

import pytest
from support.simulation.mutants import MUTANTS, Mutant, drop_one_in_100_000
from support.simulation.run import Outcome, profile_of, run_in_bulk, run_schedule

#: a mutant must be caught within this many schedules of its profiles
ENOUGH = 150
FIRST = 5000


def caught(mutant: Mutant) -> Outcome | None:
    """The first schedule that an oracle complains about, as it should."""
    suited = (seed for seed in range(FIRST, FIRST + 10 * ENOUGH) if profile_of(seed) in mutant.profiles)
    for _, seed in zip(range(ENOUGH), suited, strict=False):
        outcome = run_schedule(seed)
        crashes = [failure for failure in outcome.failures if failure.startswith("error")]
        assert not crashes, f"the mutant itself is broken: {crashes}"
        if any(failure.startswith(mutant.oracles) for failure in outcome.failures):
            return outcome
    return None


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_caught_and_the_engine_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    with monkeypatch.context() as patch:
        mutant.patch(patch)
        outcome = caught(mutant)
    assert outcome is not None, f"{ENOUGH} schedules from seed {FIRST} on did not show it"
    print(f"caught by {outcome}")
    assert run_schedule(outcome.seed).failures == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_tuple_in_a_hundred_thousand_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        drop_one_in_100_000(patch)
        outcome = run_in_bulk(1, 300_000)
    assert outcome.lost == 3
    assert "lost: 3 tuples" in outcome.failures
    assert run_in_bulk(1, 300_000).failures == []
