"""A river whose tasks die, and that goes back to its checkpoints, also with more or fewer tasks."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from support.tasks.ensemble import TIGHT, Ensemble
from support.watermarks.river import CLASSES, Ledger, fired, river

FLOW = msgspec.structs.replace(
    TIGHT, watermark_interval=0.0, watermark_per_receiver=0.0, watermark_repeat=0.5
)
ROUNDS = 4000


class Restored(NamedTuple):
    """What became of one schedule."""

    seed: int
    violations: list[str]
    runs: int
    checkpoints: int


def restored(seed: int, rows: int = 40) -> Restored:
    """One schedule: deaths and checkpoints, then a second execution from the last checkpoint."""
    ledger = Ledger(seed, rows)
    first = _ensemble(ledger, seed)
    runs = checkpoints = 0
    try:
        _suffer(first, ledger)
        if not ledger.violations:
            first.checkpoint()
        runs, checkpoints = first.node.run, first.node.started
    finally:
        first.close()
    if not ledger.violations:
        ledger.ended.clear()
        second = _ensemble(ledger, seed + 1, store=first.store, base=first.node.complete[-1], execution="f")
        try:
            _finish(second, ledger)
        finally:
            second.close()
    return Restored(seed, ledger.violations, runs, checkpoints)


def _ensemble(ledger: Ledger, seed: int, **more: Any) -> Ensemble:
    """Of as many tasks as the ledger's dice say."""
    numbers = {name: ledger.dice.randint(1, 3) for name in ("springs", "fords", "windows", "mouth")}
    plan = river(numbers, "fields", "effectively_once")
    classes = {name: type(name, (cls,), {"ledger": ledger}) for name, cls in CLASSES.items()}
    return Ensemble(plan, classes.__getitem__, seed, settings=FLOW, **more)


def _suffer(ensemble: Ensemble, ledger: Ledger) -> None:
    dice = ensemble.dice
    for _ in range(dice.randint(60, 140)):
        ensemble.round()
        if ledger.violations:
            return
        if ensemble.saving:
            ensemble.complete_checkpoint()
        elif ensemble.ready and dice.random() < 0.3:
            ensemble.begin_checkpoint()
        if dice.random() < 0.04:
            for place in dice.sample(list(ensemble.places.values()), dice.randint(0, 2)):
                place.kill()
            ensemble.begin_run()


def _finish(ensemble: Ensemble, ledger: Ledger) -> None:
    mouths = {task.id for task in ensemble.plan.tasks_of("mouth")}
    for _ in range(ROUNDS):
        ensemble.round()
        if ledger.violations:
            return
        if ensemble.ready and ensemble.drained and ledger.ended >= mouths:
            fired([place.task for place in ensemble.places.values() if place.task is not None], ledger)
            return
    ledger.violations.append("stuck: it has not come to an end")
