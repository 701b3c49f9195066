"""A topology is scaled over and over while its processes are killed at random moments: nothing goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from support.faults.fire import KILLS, SEED, in_turn
from support.running.engine import Engine, wait_until
from support.running.live import TOPOLOGY, LiveWords
from support.running.watching import Watching

from heronpy.kernel.tree.update import CLOSED

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240 + 120 * KILLS)]

INSTANCES = ["words", "relay", "count", "total"]
OTHERS = ["stream-manager", "topology-master", "scheduler", "metrics-manager"]
#: how many there may be of each
RANGES = {"count": (2, 5), "relay": (1, 3), "words": (1, 4)}
#: the phase of the update in which somebody dies; nobody waits longer than for its end
PHASES = ["proposed", "prepare", "cut", "load", "release", "done"]
SETTINGS = (
    "checkpoint.interval=500ms",
    "container.restart_reset=100ms",
    "container.restart_attempts=0",
    "topology.message.timeout.secs=8",
)
PATIENCE = 90.0


class Shot(NamedTuple):
    role: str
    #: of the update that ran at that moment, empty for none
    phase: str
    #: what became of it
    outcome: str


class Gunner:
    """Asks for updates, and kills somebody in each of them."""

    def __init__(self, engine: Engine, watching: Watching, dice: random.Random) -> None:
        self._engine = engine
        self._watching = watching
        self._dice = dice
        self._shots = 0

    def shoot(self, role: str, scalable: list[str]) -> Shot:
        """One update and one kill; then everything is as it should be."""
        watching = self._watching
        before = watching.plan().logical.parallelism()
        wanted = self._wish(before, scalable)
        epoch = self._epoch()
        command = self._ask(wanted)
        phase, pause = self._moment()
        try:
            wait_until(lambda: self._reached(epoch, phase), PATIENCE, f"{phase} is reached", watching.detail)
            time.sleep(pause)
            now = self._kill(role)
            said, complaint = command.communicate(timeout=PATIENCE)
        finally:
            command.kill()
            command.wait()
        what = f"{wanted}, {role} killed in {now or 'no phase'}"
        watching.recover(what, PATIENCE)
        update = watching.update()
        assert update is not None
        print(f"{what}: {update.phase} {update.reason}")
        assert command.returncode == (0 if update.phase == "done" else 1), f"{what}\n{said}{complaint}"
        if command.returncode == 0:
            assert json.loads(said)["phase"] == "done"
        expected = {**before, **wanted} if update.phase == "done" else before
        assert watching.wholly() == expected, what
        return Shot(role, now, update.phase)

    def _wish(self, before: dict[str, int], scalable: list[str]) -> dict[str, int]:
        chosen = self._dice.sample(scalable, self._dice.randint(1, len(scalable)))
        wish = {}
        for name in chosen:
            low, high = RANGES[name]
            wish[name] = self._dice.choice([each for each in range(low, high + 1) if each != before[name]])
        return wish

    def _moment(self) -> tuple[str, float]:
        """A phase and how long after its beginning; the first one is early enough to hit for sure."""
        self._shots += 1
        if self._shots == 1:
            return "proposed", 0.0
        dice = self._dice
        return dice.choice(PHASES), dice.choice([0.0, dice.uniform(0.0, 0.05), dice.uniform(0.0, 0.5)])

    def _ask(self, wanted: dict[str, int]) -> subprocess.Popen[str]:
        targets = [f"{name}={count}" for name, count in wanted.items()]
        return self._engine.start("update", TOPOLOGY, *targets, "--yes", "-o", "json")

    def _epoch(self) -> int:
        update = self._watching.update()
        return update.epoch if update is not None else 0

    def _reached(self, epoch: int, phase: str) -> bool:
        update = self._watching.update()
        if update is None or update.epoch == epoch:
            return False
        return update.phase not in PHASES[: PHASES.index(phase)]  # it may be rolled back as well

    def _kill(self, role: str) -> str:
        """Any one of them; the phase of the update in which it was."""
        watching = self._watching
        candidates: list[int] = []

        def there() -> bool:
            candidates[:] = sorted(process.pid for process in watching.processes(role))
            return candidates != []

        wait_until(there, 30, f"there is a {role}")
        victim = self._dice.choice(candidates)
        update = watching.update()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        return update.phase if update is not None and update.phase not in CLOSED else ""


def under_fire(
    engine: Engine, watching: Watching, cell: str, roles: list[str], scalable: list[str]
) -> list[Shot]:
    """All shots of a cell."""
    print(f"{cell}: seed {SEED}, {KILLS} kills")
    dice = random.Random(f"{cell} {SEED}")
    gunner = Gunner(engine, watching, dice)
    watching.recover("at the beginning", PATIENCE)
    shots = [gunner.shoot(role, scalable) for role in in_turn(roles, KILLS, dice)]
    outcomes = Counter(shot.outcome for shot in shots)
    print(f"{cell}: {dict(outcomes)}, killed in {dict(Counter(shot.phase or 'none' for shot in shots))}")
    return shots


@pytest.mark.parametrize("cell", ["one", "another"])
def test_effectively_once_every_word_counts_once(engine: Engine, tmp_path: Path, cell: str) -> None:
    (tmp_path / "brake").write_text("0.05")
    words = LiveWords(engine, tmp_path, "EFFECTIVELY_ONCE", keys=20_000, settings=SETTINGS)
    with Watching(engine, TOPOLOGY) as watching:
        roles = [*INSTANCES, *OTHERS, "executor"]
        shots = under_fire(engine, watching, f"effectively once, {cell}", roles, ["count", "relay", "words"])
        print(f"{watching.checkpoints().run - 1} restores")
    assert any(shot.phase for shot in shots), "nobody was killed during an update"
    words.rest()
    account = words.account()
    print(account)
    assert account == (0, account.words, account.words)
    words.end()


def test_at_least_once_nothing_is_lost(engine: Engine, tmp_path: Path) -> None:
    """But for what only a counter knows: its state goes back to a checkpoint, if there is one."""
    (tmp_path / "brake").write_text("0.05")
    words = LiveWords(engine, tmp_path, "ATLEAST_ONCE", keys=500_000, settings=SETTINGS)
    with Watching(engine, TOPOLOGY) as watching:
        shots = under_fire(engine, watching, "at least once", ["relay", *OTHERS], ["count", "relay"])
    assert any(shot.phase for shot in shots), "nobody was killed during an update"
    words.finish()
    assert words.missing() == 0
    words.end()
