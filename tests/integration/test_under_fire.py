"""Kills at random moments under full load, with a source that can replay: every number is accounted for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.engine import Engine
from support.fire import KILLS, PATIENT, Fire

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240 + 30 * KILLS)]

#: shots on top of those that were asked for, while none has hit anything
MORE = 10
#: seconds: twice the time that the topology's tuples have
COMES_AGAIN = 4.0

#: whose death must hit tuples on their way, and whose must not
IN_THE_WAY = ["relay", "ledger", "stream-manager", "executor", "numbers"]
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


def under_fire(
    engine: Engine,
    folder: Path,
    reliability: str,
    *roles: str,
    settings: Sequence[str] = (),
    hits: bool = False,
) -> tuple[Fire, int]:
    """A topology that has survived its kills and come to rest; tuples processed while somebody was away."""
    fire = Fire(engine, folder, reliability, f"{reliability} {'+'.join(roles)}", *settings)
    meanwhile = sum(fire.shoot(*roles) for _ in range(KILLS))
    if hits:
        shoot_until_something_is_hit(fire, roles)
    fire.drain()
    return fire, meanwhile


def shoot_until_something_is_hit(fire: Fire, roles: Sequence[str]) -> None:
    """Whoever dies may have had nothing in hand at that moment; what was lost comes again in a while."""
    for _ in range(MORE):
        deadline = time.monotonic() + COMES_AGAIN
        while time.monotonic() < deadline:
            if fire.progress().replayed:
                return
            time.sleep(0.1)
        print("nothing was in flight: another shot")
        fire.shoot(*roles)


@pytest.mark.parametrize("roles", [*((role,) for role in IN_THE_WAY), *PAIRS], ids="+".join)
def test_at_least_once_loses_nothing_whoever_dies(
    engine: Engine, tmp_path: Path, roles: tuple[str, ...]
) -> None:
    fire, _ = under_fire(engine, tmp_path, "ATLEAST_ONCE", *roles, hits=True)
    verdict = fire.verdict()
    print(verdict, fire.progress())
    assert (verdict.lost, verdict.unexpected) == (0, 0)
    assert fire.progress().replayed > 0, "the fault hit nothing in flight"
    fire.end()


@pytest.mark.parametrize("role", BYSTANDERS)
def test_at_least_once_does_not_notice_who_is_not_in_the_way(
    engine: Engine, tmp_path: Path, role: str
) -> None:
    fire, meanwhile = under_fire(engine, tmp_path, "ATLEAST_ONCE", role, settings=[PATIENT])
    verdict = fire.verdict()
    assert verdict == (0, 0, 0)
    assert fire.progress().replayed == 0
    assert meanwhile > 0, "nothing was processed while it was away"
    fire.end()


@pytest.mark.parametrize("role", [*IN_THE_WAY, *BYSTANDERS])
def test_at_most_once_repeats_nothing_and_says_how_much_was_lost(
    engine: Engine, tmp_path: Path, role: str
) -> None:
    fire, _ = under_fire(engine, tmp_path, "ATMOST_ONCE", role)
    verdict = fire.verdict()
    status = fire.engine.status("UnderFire")
    print(verdict, status["lost_min"], status["lost_max"])
    assert (verdict.unexpected, verdict.repeated) == (0, 0)
    # A spout notes a number before it emits it, so the last one before its death may never have left.
    noted = KILLS if role == "numbers" else 0
    assert status["lost_min"] <= verdict.lost <= status["lost_max"] + noted
    if role in BYSTANDERS:
        assert (verdict.lost, status["lost_max"]) == (0, 0)
    fire.end()
