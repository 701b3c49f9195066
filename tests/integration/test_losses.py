"""At most once: what kills cost lies in the interval that the engine reports, and nothing comes twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.watching import Watching

from heronpy.kernel.status import TopologyStatus


def all_at_work(watching: Watching) -> None:
    """Wait until every instance has reported work that it did after now."""

    def work() -> dict[str, tuple[int, int]]:
        return {one.label: (one.emitted, one.executed) for one in watching.status().instances}

    before = work()
    wait_until(
        lambda: not before.items() & work().items(), 30, "every instance reports new work", watching.detail
    )


def kill(watching: Watching, label: str) -> None:
    """Kill one instance, and wait until its successor and all others have been at work."""

    def pid() -> int:
        return next(one.pid for one in watching.status().instances if one.label == label)

    before = pid()
    watching.kill(label)
    wait_until(
        lambda: watching.status().state == "RUNNING" and pid() != before,
        30,
        f"a new {label}",
        watching.detail,
    )
    all_at_work(watching)


def at_rest(watching: Watching) -> TopologyStatus:
    """The status of the paused topology once its numbers do not change any more."""
    last: list[int] = []
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 4:
        status = watching.status()
        waiting = sum(one.queue for one in status.instances)
        numbers = [sum(one.executed for one in status.instances), status.lost_max, status.lost_min]
        if numbers != last or waiting:
            last, quiet_since = numbers, time.monotonic()
        time.sleep(0.2)
    return watching.status()


@pytest.mark.cluster
def test_what_kills_cost_lies_in_the_reported_interval(engine: Engine, tmp_path: Path) -> None:
    engine.ok("submit", str(TOPOLOGIES / "witnessed.py"), str(tmp_path))
    with Watching(engine, "Witnessed") as watching:
        wait_until(
            lambda: sum(one.executed for one in watching.status().instances) > 10_000,
            30,
            "the first tuples",
            watching.detail,
        )
        all_at_work(watching)
        for label in ("witness[0]", "numbers[0]", "witness[1]", "numbers[0]"):
            kill(watching, label)
        engine.ok("deactivate", "Witnessed")
        status = at_rest(watching)

    emitted = int.from_bytes((tmp_path / "emitted").read_bytes(), "little")
    seen = [path.read_bytes()[:emitted] for path in tmp_path.glob("seen-*")]
    assert {times for each in seen for times in set(each)} == {0, 1}
    # Millions of numbers, so all at once: no witness has seen one that the other has.
    first, second = (int.from_bytes(each, "little") for each in seen)
    assert first & second == 0
    lost = emitted - (first | second).bit_count()
    assert lost > 0
    assert status.lost_min <= lost <= status.lost_max, (lost, status.lost_min, status.lost_max)
    shown = f"lost  between {status.lost_min:,} and {status.lost_max:,} tuples\n"
    assert shown in engine.ok("status", "Witnessed")
    engine.ok("kill", "Witnessed")


@pytest.mark.cluster
def test_a_task_that_dies_in_a_quiet_flow_costs_nothing_and_its_credit_is_not_counted(engine: Engine) -> None:
    """It had noted how far it was; its credit alone would be some thousand tuples that may be lost."""
    engine.ok("submit", str(TOPOLOGIES / "trickle.py"), "Trickle")
    with Watching(engine, "Trickle") as watching:
        all_at_work(watching)
        kill(watching, "ticker[0]")
        # the one that was on its way in that very moment
        assert watching.status().lost_max <= 1, watching.detail()
    engine.ok("kill", "Trickle")
