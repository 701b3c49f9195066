"""Somebody is killed at every step of checkpoints, restores and updates: every word is counted once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.faults import provocations
from support.faults.provocations import Provocation
from support.faults.step_crashes import StepCrashes
from support.running.engine import TOPOLOGIES, Engine, wait_until
from support.running.live import TOPOLOGY, LiveWords
from support.running.watching import Watching

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

KEYS = 20_000
#: how long a step may take to be reached, and the topology to go on
PATIENCE = 60.0
SETTINGS = (
    "checkpoint.interval=500ms",
    # who is killed again and again is no worse than who is killed once
    "container.restart_reset=100ms",
    "container.restart_attempts=0",
)
#: from one to the other and back: always somebody comes and somebody retires
SMALL, LARGE = {"count": 2, "relay": 2}, {"count": 3, "relay": 1}


class Words:
    """A topology that counts words, and dies at one step after another."""

    def __init__(self, engine: Engine, folder: Path, reliability: str) -> None:
        self.engine = engine
        self.crashes = StepCrashes(folder / "crashes")
        engine.for_topologies["PYTHONPATH"] = self.crashes.pythonpath()
        (folder / "brake").write_text("0.1")
        self.live = LiveWords(engine, folder, reliability, keys=KEYS, settings=SETTINGS)

    def go_through(self, steps: Mapping[str, Provocation]) -> None:
        """All of them, on the same topology, which must be as exact afterwards as if nothing had been."""
        with Watching(self.engine, TOPOLOGY) as watching:
            watching.recover("at the beginning")
            for step, provocation in steps.items():
                begun = time.monotonic()
                before = watching.plan().logical.parallelism()
                self.crashes.arm(step)
                for earlier in provocation.earlier:
                    self.crashes.arm(earlier)
                wanted = self._provoke(watching, provocation)
                self.crashes.wait_hit(step, PATIENCE, watching.detail)
                self.crashes.disarm()
                hit = time.monotonic()
                watching.recover(step, PATIENCE)
                self._check_wholly(watching, step, before, wanted)
                print(
                    f"{step}: hit after {hit - begun:.1f} s, all flows {time.monotonic() - hit:.1f} s later"
                )
        self.live.rest()
        account = self.live.account()
        print(account)
        assert account == (0, account.words, account.words)
        assert account.words > 0
        self.live.end()

    def _provoke(self, watching: Watching, provocation: Provocation) -> dict[str, int]:
        """What the topology may have become when it is over."""
        now = {name: watching.plan().logical.parallelism()[name] for name in SMALL}
        match provocation.how:
            case "kill a counter":
                watching.kill("count[1]")
            case "kill the master":
                watching.kill("topology-master")
            case "restart a container":
                self.engine.ok("restart", TOPOLOGY, "1", timeout=PATIENCE)
            case "update":
                now = LARGE if now == SMALL else SMALL
                wanted = [f"{name}={count}" for name, count in now.items()]
                self.engine.ok("update", TOPOLOGY, *wanted, "--no-wait", timeout=PATIENCE)
        return now

    def _check_wholly(
        self, watching: Watching, step: str, before: Mapping[str, int], wanted: Mapping[str, int]
    ) -> None:
        after = watching.wholly()
        update = watching.update()
        if update is not None and wanted.items() - before.items():
            expected = {**before, **wanted} if update.phase == "done" else before
            assert after == expected, f"{step}: {update}"
            print(f"{step}: {update.phase} {update.reason}")


@pytest.mark.parametrize("area", ["CHECKPOINT", "RESTORE", "TO_THE_COMMIT", "FROM_THE_COMMIT", "BACK"])
def test_effectively_once_every_word_counts_once_whoever_dies_at_which_step(
    engine: Engine, tmp_path: Path, area: str
) -> None:
    Words(engine, tmp_path, "EFFECTIVELY_ONCE").go_through(getattr(provocations, area))


def test_a_restart_that_was_planned_loses_nothing_whoever_dies_in_it(engine: Engine, tmp_path: Path) -> None:
    Words(engine, tmp_path, "ATLEAST_ONCE").go_through(provocations.RESTART)


def test_at_most_once_the_master_may_die_at_any_step_of_an_update(engine: Engine, tmp_path: Path) -> None:
    steps = {**provocations.TO_THE_COMMIT, **provocations.FROM_THE_COMMIT, **provocations.BACK}
    chosen = {name: steps[name] for name in ("update.prepare", "update.cut", "update.load")}
    chosen |= {name: steps[name] for name in ("update.committing", "update.committed", "update.release")}
    chosen |= {name: steps[name] for name in ("update.packing.written", "update.rollback")}
    assert provocations.of_the_master(chosen) == chosen
    Words(engine, tmp_path, "ATMOST_ONCE").go_through(chosen)


NUMBERS = 40_000
#: seconds of rest after twenty: more of them than all steps take
REST = 0.02


def test_a_transaction_is_committed_once_whoever_dies_at_which_step_of_it(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    def written() -> list[int]:
        return sorted(int(line) for path in folder.glob("lines-*") for line in path.read_text().split())

    crashes = StepCrashes(tmp_path / "crashes")
    engine.for_topologies["PYTHONPATH"] = crashes.pythonpath()
    chosen = [word for each in SETTINGS for word in ("--set", each)]
    engine.ok(
        "submit", str(TOPOLOGIES / "exact.py"), str(NUMBERS), str(folder), str(REST), *chosen, timeout=120
    )
    with Watching(engine, "Exact") as watching:
        for step, provocation in provocations.TRANSACTIONS.items():
            crashes.arm(step)
            if provocation.how == "kill a counter":
                watching.kill("count[1]")
            crashes.wait_hit(step, PATIENCE, watching.detail)
            done, begun = len(written()), time.monotonic()
            assert done < NUMBERS, f"{step}: all was over before"

            def more(before: int = done) -> bool:
                return len(written()) > before

            wait_until(more, PATIENCE, f"{step}: more is committed", watching.detail)
            print(f"{step}: committed again after {time.monotonic() - begun:.1f} s")
        (folder / "hurry").touch()
        wait_until(lambda: len(written()) >= NUMBERS, 120, "all are written", watching.detail)
    assert written() == list(range(NUMBERS))
    engine.ok("kill", "Exact")
    assert engine.leftovers() == []
