"""Rows, batches and columns, fused and not, over both kinds of links: the account of all numbers is exact.

A run is scaled 2 → 4 → 1 → 3 while numbers flow and processes are killed; then every number is held against
the ledger or the committed files. A few cells run with all tests. `make chaos` runs the whole matrix, or as
many of its cells as CHAOS_CELLS says, each with a million numbers and CHAOS_KILLS kills.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from support.faults.fire import SEED, in_turn
from support.running.engine import Engine
from support.running.unit_run import (
    Load,
    UnitCell,
    UnitRun,
    numbers_by_key,
    overtakings_by_key,
    seen_by_key,
)

WHOLE = "CHAOS_KILLS" in os.environ
KILLS = int(os.environ.get("CHAOS_KILLS", "1"))
#: for a busy machine, where a short timeout makes numbers come again before they had a chance to be counted
LOAD = Load(1_000_000, 10_000, 500, "30") if WHOLE else Load(8_000, 1_000, 50, "5")
MODES = ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout((900 if WHOLE else 400) + 60 * KILLS)]

UNITS = ["rows", "batches", "columns"]
MATRIX = [
    (UnitCell(send, take, fuse, links), mode)
    for send, take, fuse, links, mode in itertools.product(
        UNITS, UNITS, ["none", "container"], ["unix", "zmq"], MODES
    )
]
#: each unit, of spouts and of bolts, and each guarantee meets both links, is fused and not; and who is killed
FEW = [
    (UnitCell("rows", "rows", "none", "unix"), "EFFECTIVELY_ONCE", "relay"),
    (UnitCell("columns", "columns", "none", "unix"), "ATMOST_ONCE", "numbers"),
    (UnitCell("batches", "batches", "none", "unix"), "ATLEAST_ONCE", "relay"),
    (UnitCell("rows", "rows", "none", "zmq"), "ATMOST_ONCE", "stream-manager"),
    (UnitCell("batches", "batches", "container", "unix"), "ATMOST_ONCE", "tasks"),
    (UnitCell("columns", "rows", "container", "unix"), "ATLEAST_ONCE", "executor"),
    (UnitCell("rows", "batches", "container", "zmq"), "ATLEAST_ONCE", "tasks"),
    (UnitCell("columns", "columns", "container", "zmq"), "ATLEAST_ONCE", "stream-manager"),
    (UnitCell("batches", "batches", "none", "zmq"), "EFFECTIVELY_ONCE", "sink"),
    (UnitCell("rows", "columns", "none", "unix"), "EFFECTIVELY_ONCE", "count"),
    (UnitCell("columns", "columns", "container", "unix"), "EFFECTIVELY_ONCE", "tasks"),
]


def cells() -> list[tuple[UnitCell, str, str]]:
    """Those that run; of the matrix the seed draws a share."""
    if not WHOLE:
        return FEW
    share = int(os.environ.get("CHAOS_CELLS") or len(MATRIX))
    drawn = random.Random(f"cells {SEED}").sample(MATRIX, min(share, len(MATRIX)))
    return [(cell, mode, "all in turn") for cell, mode in drawn]


@pytest.mark.parametrize(("cell", "mode", "killed"), cells(), ids=str)
def test_every_number_is_accounted_for(
    engine: Engine, tmp_path: Path, cell: UnitCell, mode: str, killed: str
) -> None:
    print(f"{cell} {mode}: seed {SEED}, {KILLS} kills")
    dice = random.Random(f"{cell} {mode} {SEED}")
    with UnitRun(engine, tmp_path, cell, mode, LOAD) as run:
        victims = iter(in_turn(run.roles() if WHOLE else [killed], KILLS, dice))
        shots = Counter(dice.choice(range(3)) for _ in range(KILLS))
        for turn, counters in enumerate((4, 1, 3)):
            assert run.overtakings() == 0
            run.scale(counters)
            for role in itertools.islice(victims, shots[turn]):
                run.kill_one(role, dice)
        run.finish()

        assert run.overtakings() == 0
        entries, sent = run.arrived(), run.sent()
        often = Counter(entry.number for entry in entries)
        lost, (least, most) = len(sent - often.keys()), run.lost()
        print(f"{len(sent)} numbers, {len(entries)} arrived, {lost} lost of {least} to {most}")
        assert len(sent) >= LOAD.least
        assert often.keys() <= sent
        if mode == "ATMOST_ONCE":
            assert set(often.values()) == {1}
            assert least <= lost <= most + run.notes * LOAD.burst
        elif mode == "ATLEAST_ONCE":
            assert lost == 0
        else:
            assert lost == 0
            assert set(often.values()) == {1}
            assert seen_by_key(entries) == numbers_by_key(sent)
            assert overtakings_by_key(entries) == 0
        run.end()
