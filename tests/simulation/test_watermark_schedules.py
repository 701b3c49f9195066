"""Event time while components are scaled, restarted and restored: nothing that was on time becomes late.

The schedules run production's own tasks: emitters, receivers, switching, snapshots. A violation is a row that
was on time at its source and comes late, a window that fires twice or not with all its rows, a watermark of a
key that goes back, or a schedule that does not come to its end.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterator

import pytest
from support.watermarks.rescaling import Flowed, apart, rescaled
from support.watermarks.restoring import Restored, restored
from support.watermarks.watermark_mutants import (
    WHEN_APART,
    WHEN_RESCALED,
    WHEN_RESTORED,
    WatermarkMutant,
)

#: of each of the two kinds; `make chaos` asks for more
SCHEDULES = int(os.environ.get("WATERMARK_SCHEDULES", "24"))
SEED = int(os.environ.get("SIMULATION_SEED", "1"))
#: where the remembered seed does not show a mutant any more, this many schedules must
ENOUGH = 400


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Tasks that are short of credit say so, and here all are."""
    logger = logging.getLogger("heronpy.instances.output.hold_ups")
    logger.disabled = True
    yield
    logger.disabled = False


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("half", [0, 1])
def test_nothing_becomes_late_while_components_are_scaled_restarted_and_rolled_back(half: int) -> None:
    print(f"SIMULATION_SEED={SEED}")
    seeds = range(SEED + half, SEED + SCHEDULES, 2)
    found = [rescaled(seed) if seed % 3 else apart(seed) for seed in seeds]
    assert [one for one in found if one.violations] == []
    for evidence in ("scaled", "restarted", "rolled_back", "lost"):
        assert sum(getattr(one, evidence) for one in found) > 0, f"nothing was {evidence}"


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("half", [0, 1])
def test_nothing_becomes_late_when_all_goes_back_to_a_checkpoint(half: int) -> None:
    print(f"SIMULATION_SEED={SEED}")
    found = [restored(seed) for seed in range(SEED + half, SEED + SCHEDULES, 2)]
    assert [one for one in found if one.violations] == []
    assert sum(one.runs for one in found) > len(found)


def caught(mutant: WatermarkMutant, run: Callable[[int], Flowed | Restored]) -> Flowed | Restored | None:
    """The first schedule with a violation: the remembered one, or one that is searched for."""
    for seed in itertools.chain([mutant.seed], range(ENOUGH)):
        outcome = run(seed)
        if outcome.violations:
            print(f"caught by seed {seed}, remembered {mutant.seed}: {outcome.violations[0]}")
            return outcome
    return None


MUTANTS: list[tuple[str, WatermarkMutant, Callable[[int], Flowed | Restored]]] = [
    *((name, mutant, rescaled) for name, mutant in WHEN_RESCALED.items()),
    *((name, mutant, apart) for name, mutant in WHEN_APART.items()),
    *((name, mutant, restored) for name, mutant in WHEN_RESTORED.items()),
]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("name", "mutant", "run"), MUTANTS, ids=[name for name, *_ in MUTANTS])
def test_an_engine_that_lacks_a_rule_is_caught_and_the_real_one_is_not(
    name: str,
    mutant: WatermarkMutant,
    run: Callable[[int], Flowed | Restored],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        mutant.patch(patch)
        outcome = caught(mutant, run)
    assert outcome is not None, f"{ENOUGH} schedules did not show that {name} is wrong"
    assert run(outcome.seed).violations == []
