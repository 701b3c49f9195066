"""A river that is scaled, restarted and rolled back while it flows, as a seed decides."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

from support.tasks.crew.crew import Crew
from support.tasks.crew.updates import Updates
from support.tasks.diced_links import DicedLinks
from support.tasks.faulty_links import WatermarkLoss
from support.watermarks.river import CLASSES, Ledger, fired, river

from heronpy.instances.flow_settings import FlowSettings

SCALED = ("springs", "fords", "windows", "mouth")
STEPS = 60_000
#: shares of watermarks; where many are lost, tasks differ in how far they are
LOSSES = (0.0, 0.3, 0.7)
FLOW = FlowSettings(
    batch_tuples=3,
    credit_initial=4,
    credit_window=0.0001,
    linger=0.002,
    credit_probe=0.2,
    spout_calls=1,
    watermark_interval=0.0,
    watermark_per_receiver=0.0,
    watermark_repeat=0.1,
)


class Flowed(NamedTuple):
    """What became of one schedule."""

    seed: int
    violations: list[str]
    scaled: int
    restarted: int
    rolled_back: int
    #: watermarks that were lost on their way
    lost: int


class LossyLinks(DicedLinks):
    """Lose watermarks."""

    def __init__(self, dice: random.Random, shares: Sequence[float]) -> None:
        super().__init__(dice)
        self.loss = WatermarkLoss(dice, dice.choice(shares))

    def carry(self, prefix: bytes, payload: bytes) -> None:
        if not self.loss.takes(prefix, payload):
            super().carry(prefix, payload)


class UnevenCrew(Crew):
    """Some tasks have few turns for a while, so that much waits at them and others are ahead of them."""

    slow: frozenset[int] = frozenset()

    def pick(self) -> int:
        dice = self.dice
        if dice.random() < 0.004:
            self.slow = frozenset(task for task in sorted(self.actors) if dice.random() < 0.4)
        task = super().pick()
        return super().pick() if task in self.slow and dice.random() < 0.9 else task


def rescaled(seed: int) -> Flowed:
    """One schedule, until all windows have fired everywhere."""
    return _schedule(seed, SCALED, LOSSES)


def apart(seed: int) -> Flowed:
    """One in which only the windows are scaled, and most watermarks are lost: tasks are far apart."""
    return _schedule(seed, ("windows",), (0.7,))


def _schedule(seed: int, scaled: Sequence[str], losses: Sequence[float]) -> Flowed:
    dice = random.Random(f"rescaled {seed}")
    ledger = Ledger(seed)
    drawn = {name: dice.randint(1, 3) for name in scaled}
    plan = river({**dict.fromkeys(SCALED, 2), **drawn}, dice.choice(("fields", "shuffle")))
    links = functools.partial(LossyLinks, shares=losses)
    crew = UnevenCrew(plan, CLASSES.__getitem__, FLOW, seed, ledger, links=links)
    updates = Updates(crew)
    try:
        _flow(crew, updates, ledger, dice, scaled)
    finally:
        crew.close()
    assert isinstance(crew.links, LossyLinks)
    lost = crew.links.loss.lost
    return Flowed(seed, ledger.violations, updates.done, updates.restarted, updates.rolled_back, lost)


def _flow(crew: Crew, updates: Updates, ledger: Ledger, dice: random.Random, scaled: Sequence[str]) -> None:
    assert isinstance(crew.links, LossyLinks)
    changes = dice.randint(3, 6)
    for _ in range(STEPS):
        crew.step()
        updates.step()
        if ledger.violations:
            return
        if updates.running:
            continue
        if not changes:
            ledger.flowing = False
            crew.links.loss.calm()
        elif dice.random() < 0.02:
            changes -= 1
            _change(updates, dice, scaled)
        if not changes and ledger.ended >= {task.id for task in crew.plan.tasks_of("mouth")}:
            break
    else:
        ledger.violations.append("stuck: it has not come to an end")
        return
    fired([actor.task for actor in crew.actors.values()], ledger)


def _change(updates: Updates, dice: random.Random, scaled: Sequence[str]) -> None:
    if len(scaled) == 1:
        updates.begin({dice.choice(scaled): dice.randint(1, 3)}, STEPS)
        return
    patience = dice.choice((300, 1500, STEPS, STEPS))
    if dice.random() < 0.15:
        updates.restart(dice.randint(1, 2), patience)
    else:
        wanted = {name: dice.randint(1, 3) for name in dice.sample(scaled, dice.choice((1, 1, 2)))}
        updates.begin(wanted, patience)
