"""The power is cut at named steps, and the disk has what was synced: every result is exact all the same."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.faults import provocations
from support.faults.power.machine import TOPOLOGY, Machine
from support.faults.provocations import Provocation

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

#: `make chaos` goes through all of them
ALL = bool(os.environ.get("CHAOS_KILLS"))
SEED = int(os.environ.get("CHAOS_SEED", "1"))

RUNNING = {
    **provocations.CHECKPOINT,
    **provocations.TRANSACTIONS,
    **provocations.RESTORE,
    **provocations.TO_THE_COMMIT,
    **provocations.FROM_THE_COMMIT,
    **provocations.BACK,
}
#: where something has just become durable that the next step relies upon
CHOSEN = (
    "checkpoint.transaction.prepared",
    "checkpoint.completed",
    "checkpoint.transaction.committed",
    "update.committed",
)
UNFINISHED = [name for name in provocations.SUBMIT if name not in ("submit.written", "submit.started")]


@pytest.fixture
def machine(tmp_path: Path, synced_library: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, synced_library)
    try:
        yield made
    finally:
        made.engine.close()


def steps() -> dict[str, Provocation]:
    return RUNNING if ALL else {name: RUNNING[name] for name in CHOSEN}


@pytest.mark.parametrize("submitted", ["submit.written", *(["submit.started"] if ALL else [])])
def test_a_topology_that_was_only_just_submitted_is_there(machine: Machine, submitted: str) -> None:
    """… and effectively once it is exact, whatever step the power is cut at later."""
    machine.crashes.arm_cut(submitted)
    assert machine.submit() != 0
    machine.pull_the_plug()
    machine.start_again(submitted)
    if submitted == "submit.written":
        for step, provocation in steps().items():
            machine.pull_it_at(step, provocation)
            machine.start_again(step)
        dice = random.Random(SEED)
        for turn in range(5 if ALL else 1):
            step = dice.choice(sorted(RUNNING))
            print(f"SEED {SEED}, turn {turn}: some of what was not synced is there as well")
            machine.pull_it_at(step, RUNNING[step], dice)
            machine.start_again(step)
    machine.finish()


def test_a_submit_that_is_cut_short_can_be_killed_and_made_again(machine: Machine) -> None:
    for step in UNFINISHED if ALL else UNFINISHED[1::3]:
        machine.crashes.arm_cut(step)
        assert machine.submit() != 0
        machine.pull_the_plug()
        told = machine.engine.fails("status", TOPOLOGY)
        assert "its submit was cut short" in told, step
        machine.engine.ok("kill", TOPOLOGY)
        assert machine.engine.leftovers() == [], step
