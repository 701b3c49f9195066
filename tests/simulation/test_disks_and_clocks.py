"""Power cuts, crashes, full and slow disks, changed bits, clocks that jump: exact results, or it is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.simulation.disk_mutants import DISK_MUTANTS
from support.simulation.disk_run import run_disk_schedules

#: `make chaos` asks for more, as many as of the other schedules
SCHEDULES = int(os.environ.get("SIMULATION_SCHEDULES", "300")) // 10
SEED = int(os.environ.get("SIMULATION_SEED", "1"))
#: where the remembered seed does not show a mutant any more, one of so many must
ENOUGH = 60
#: among fewer schedules not every kind of fault need be
FEW = 30


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_effectively_once_is_exact_whatever_disk_and_clock_do(synced_library: Path) -> None:
    print(f"SIMULATION_SEED={SEED}")
    remembered = {mutant.seed for mutant in DISK_MUTANTS.values()} if SCHEDULES >= FEW else set()
    found = run_disk_schedules(synced_library, {*range(SEED, SEED + SCHEDULES), *remembered}, {})
    failed = [outcome for outcome in found if outcome.failures]
    assert not failed, f"{len(failed)} of {len(found)} schedules\n" + "\n".join(map(str, failed[:5]))
    if len(found) < FEW:
        return
    kinds = {fault for outcome in found for fault in outcome.faults}
    assert kinds == {"cut", "cut_some", "crash", "full", "slow"}
    assert any(outcome.refused for outcome in found), "nothing was refused for want of room"
    assert any(outcome.damaged for outcome in found), "no bit was changed"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_engines_that_sync_less_or_trust_a_clock_are_caught(synced_library: Path) -> None:
    seeds = {name: [mutant.seed, *range(1, 1 + ENOUGH)] for name, mutant in DISK_MUTANTS.items()}
    found = {outcome.mutant: outcome for outcome in run_disk_schedules(synced_library, [], seeds)}
    assert found.keys() == DISK_MUTANTS.keys()
    for name, mutant in DISK_MUTANTS.items():
        outcome = found[name]
        note = "" if outcome.seed == mutant.seed else f"; remember seed {outcome.seed} in disk_mutants.py"
        print(f"{name}: {outcome}{note}")
    missed = [
        name
        for name, mutant in DISK_MUTANTS.items()
        if not any(failure.startswith(mutant.oracles) for failure in found[name].failures)
    ]
    assert not missed
