"""Engines with one thing wrong are caught by the very schedules and oracles that the real one passes."""

from __future__ import annotations

import itertools

import pytest
from support.simulation.mutants import MUTANTS, Mutant, drop_one_in_100_000
from support.simulation.run import Outcome, profile_of, run_in_bulk, run_schedule

#: where the remembered seed does not show a mutant any more, this many schedules of its profiles must
ENOUGH = 150
FIRST = 5000


def caught(mutant: Mutant) -> Outcome | None:
    """The first schedule that an oracle complains about: the remembered one, or one that is searched for."""
    suited = (seed for seed in range(FIRST, FIRST + 10 * ENOUGH) if profile_of(seed) in mutant.profiles)
    for seed in (mutant.seed, *itertools.islice(suited, ENOUGH)):
        outcome = run_schedule(seed)
        crashes = [failure for failure in outcome.failures if failure.startswith("error")]
        assert not crashes, f"the mutant itself is broken: {crashes}"
        if any(failure.startswith(mutant.oracles) for failure in outcome.failures):
            return outcome
    return None


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_is_caught_and_the_engine_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    with monkeypatch.context() as patch:
        mutant.patch(patch)
        outcome = caught(mutant)
    assert outcome is not None, f"{ENOUGH} schedules from seed {FIRST} on did not show it"
    print(f"caught by {outcome}")
    if outcome.seed != mutant.seed:
        print(
            f"remember seed {outcome.seed} for {name} in mutants.py: {mutant.seed} does not show it any more"
        )
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
