"""Kills at random moments under full load, with a source that can replay: every number is accounted for.

A cell of the kill matrix is a guarantee and the roles that are shot at. All cells of a test are shot at one
topology, one after the other, and each is judged by the numbers that were emitted in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from support.faults.fire import KILLS, PATIENT, TOPOLOGY, Fire, Verdict
from support.running.engine import Engine, wait_until
from support.running.watching import Watching

pytestmark = pytest.mark.cluster

#: roles whose death must hit tuples on their way, and roles whose death must not
IN_THE_WAY = ["relay", "stream-manager", "ledger", "numbers", "executor"]
BYSTANDERS = ["topology-master", "metrics-manager", "scheduler"]
PAIRS = [
    ("relay", "ledger"),
    ("relay", "stream-manager"),
    ("stream-manager", "stream-manager"),
    ("numbers", "stream-manager"),
    ("executor", "topology-master"),
    ("executor", "executor"),
    ("stream-manager", "metrics-manager"),
    ("scheduler", "executor"),
]
#: seconds in which every task has reported twice
TWO_BEATS = 2.0


def limit(cells: int) -> pytest.MarkDecorator:
    return pytest.mark.timeout(240 + 30 * KILLS * cells)


def verdicts(fire: Fire) -> dict[str, Verdict]:
    """Of every cell, and of what was emitted after the last; no number is left out."""
    arrivals = fire.arrivals()
    found = {name: arrivals.verdict(cell.numbers) for name, cell in fire.cells.items()}
    last = max(cell.numbers.stop for cell in fire.cells.values())
    found["no shot"] = arrivals.verdict(range(last, arrivals.emitted))
    print(found)
    return found


def nothing_is_lost_in_flight(engine: Engine, folder: Path, cells: Sequence[tuple[str, ...]]) -> None:
    """Every cell hits something, and all of it arrives."""
    fire = Fire(engine, folder, "ATLEAST_ONCE", "at least once")
    for roles in cells:
        cell = fire.cell(*roles, hits=True)
        assert cell.replayed > 0, f"{'+'.join(roles)}: the fault hit nothing in flight"
    fire.drain()
    wrong = {name: v for name, v in verdicts(fire).items() if (v.lost, v.unexpected) != (0, 0)}
    assert wrong == {}
    fire.end()


@limit(len(IN_THE_WAY))
def test_at_least_once_loses_nothing_whichever_process_dies(engine: Engine, tmp_path: Path) -> None:
    nothing_is_lost_in_flight(engine, tmp_path, [(role,) for role in IN_THE_WAY])


@limit(len(PAIRS))
def test_at_least_once_loses_nothing_whichever_two_die_at_once(engine: Engine, tmp_path: Path) -> None:
    nothing_is_lost_in_flight(engine, tmp_path, PAIRS)


@limit(len(BYSTANDERS))
def test_at_least_once_does_not_notice_who_is_not_in_the_way(engine: Engine, tmp_path: Path) -> None:
    fire = Fire(engine, tmp_path, "ATLEAST_ONCE", "at least once, bystanders", PATIENT)
    for role in BYSTANDERS:
        cell = fire.cell(role)
        assert cell.replayed == 0, f"{role}: its death hit something in flight"
        assert cell.meanwhile > 0, f"{role}: nothing was processed while it was away"
    fire.drain()
    assert {name: v for name, v in verdicts(fire).items() if v != (0, 0, 0)} == {}
    assert fire.progress().replayed == 0
    fire.end()


class Interval(NamedTuple):
    """What the engine reports as lost, since its beginning."""

    least: int
    most: int


def reported(watching: Watching, role: str) -> Interval:
    """The interval once every task has had the time to report what the shots at a role have cost."""
    since, state, interval = time.monotonic(), "", Interval(0, 0)

    def unchanged() -> bool:
        nonlocal since, state, interval
        status = watching.status()
        now = status.state, Interval(status.lost_min, status.lost_max)
        if now != (state, interval):
            since, (state, interval) = time.monotonic(), now
        return state == "RUNNING" and time.monotonic() - since > TWO_BEATS

    wait_until(unchanged, 60, f"{role} shot: the losses are reported", watching.detail)
    return interval


@limit(len(IN_THE_WAY + BYSTANDERS))
def test_at_most_once_repeats_nothing_and_says_how_much_was_lost(engine: Engine, tmp_path: Path) -> None:
    fire = Fire(engine, tmp_path, "ATMOST_ONCE", "at most once")
    after: dict[str, Interval] = {}
    with Watching(engine, TOPOLOGY) as watching:
        # Bystanders come first: a new Topology Master does not know what earlier incarnations have lost.
        for role in [*BYSTANDERS, *IN_THE_WAY]:
            fire.cell(role)
            after[role] = reported(watching, role)
            print(role, after[role])
            assert role in IN_THE_WAY or after[role] == (0, 0), role
    fire.drain()
    found = verdicts(fire)
    before = Interval(0, 0)
    for role, now in after.items():
        least, most = now.least - before.least, now.most - before.most
        # A spout notes a number before it emits it, so the last one before its death may never have left.
        noted = KILLS if role == "numbers" else 0
        assert least <= found[role].lost <= most + noted, f"{role}: {found[role]}, {before} to {now}"
        before = now
    assert {name: v for name, v in found.items() if (v.unexpected, v.repeated) != (0, 0)} == {}
    assert {name: found[name].lost for name in [*BYSTANDERS, "no shot"] if found[name].lost} == {}
    final = engine.status(TOPOLOGY)
    assert (final["lost_min"], final["lost_max"]) == before, "the losses grew without a shot"
    fire.end()
