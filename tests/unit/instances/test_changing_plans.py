"""Components are scaled while tuples flow, and some of it is rolled back: nothing is lost or repeated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest
from support.tasks.crew.column_shop import COLUMN_CLASSES, column_shop
from support.tasks.crew.crew import Crew
from support.tasks.crew.shop import CLASSES, Ledger, Written, shop
from support.tasks.crew.updates import Updates

from heronpy.instances.flow_settings import FlowSettings

FLOW = FlowSettings(batch_tuples=4, credit_initial=6, linger=0.002, credit_probe=0.2, spout_calls=2)
#: so little that emit() waits often, where it may
SCARCE = msgspec.structs.replace(FLOW, batch_tuples=1, credit_initial=3)
SCALED = ("orders", "relay", "count", "sink", "watch", "lowest", "odd", "named", "written")
STEPS = 150_000


@pytest.mark.parametrize("reliability", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize("seed", range(4))
def test_everything_arrives_once_however_the_plan_changes(seed: int, reliability: str) -> None:
    dice = random.Random(f"{seed} {reliability}")
    ledger = Ledger(per_split=150)
    parallelism = {name: dice.randint(1, 3) for name in SCALED}
    crew = Crew(shop(parallelism, reliability), CLASSES.__getitem__, FLOW, seed, ledger)
    _change(crew, ledger, dice, reliability)


@pytest.mark.parametrize("reliability", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize("seed", range(2))
def test_the_same_in_columns(seed: int, reliability: str) -> None:
    dice = random.Random(f"{seed} {reliability}")
    ledger = Ledger(per_split=150)
    parallelism = {name: dice.randint(1, 3) for name in SCALED}
    crew = Crew(column_shop(parallelism, reliability), COLUMN_CLASSES.__getitem__, FLOW, seed, ledger)
    _change(crew, ledger, dice, reliability)


@pytest.mark.parametrize(("seed", "waiter"), [(0, "relay"), (1, "count")])
def test_the_same_in_columns_while_one_task_waits_inside_emit(seed: int, waiter: str) -> None:
    dice = random.Random(f"{seed} {waiter}")
    ledger = Ledger(per_split=150)
    plan = column_shop({name: dice.randint(1, 3) for name in SCALED}, "at_most_once")
    crew = Crew(plan, COLUMN_CLASSES.__getitem__, SCARCE, seed, ledger, waiter)
    _change(crew, ledger, dice, "at_most_once")
    assert crew.waits > 9


@pytest.mark.parametrize("waiter", ["relay", "count"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_while_one_task_waits_inside_emit(seed: int, waiter: str) -> None:
    """As a task does that has a process of its own: plans change, and it ends, in the middle of a call."""
    dice = random.Random(f"{seed} {waiter}")
    ledger = Ledger(per_split=150)
    parallelism = {name: dice.randint(1, 3) for name in SCALED}
    plan = shop(parallelism, "at_most_once")
    crew = Crew(plan, CLASSES.__getitem__, SCARCE, seed, ledger, waiter)
    _change(crew, ledger, dice, "at_most_once")
    assert crew.waits > 5


def _change(crew: Crew, ledger: Ledger, dice: random.Random, reliability: str) -> None:
    updates = Updates(crew)

    def meanwhile() -> None:
        crew.step()
        updates.step()

    crew.meanwhile = meanwhile
    try:
        _run(crew, updates, ledger, dice)
        written = Counter([*_written(crew), *ledger.committed])
    finally:
        crew.close()
    assert written == ledger.everything()
    _check(crew, updates, ledger, reliability)


def _run(crew: Crew, updates: Updates, ledger: Ledger, dice: random.Random) -> None:
    for _ in range(STEPS):
        crew.step()
        updates.step()
        if not updates.running and dice.random() < 0.01:
            if sum(ledger.emitted.values()) < 5 * ledger.per_split - 20:
                patience = dice.choice((300, 1000, 3000, STEPS)) if updates.done else STEPS
                if dice.random() < 0.2:
                    updates.restart(dice.randint(1, 2), patience)
                else:
                    wanted = {name: dice.randint(1, 4) for name in dice.sample(SCALED, dice.randint(1, 3))}
                    updates.begin(wanted, patience)
            elif len(ledger.emitted) == 5 * ledger.per_split and all(
                actor.quiet for actor in crew.actors.values()
            ):
                return
    pytest.fail("it has not come to an end")


def _written(crew: Crew) -> Iterator[tuple[str, int]]:
    """What sinks hold that have not been told to commit, and what those left that are no more."""
    for actor in crew.actors.values():
        task = actor.task
        if task is not None and isinstance(task.component, Written) and task.transactions is not None:
            yield from task.component.open
            for _, handle in task.transactions._prepared:
                yield from msgspec.msgpack.decode(handle, type=list[tuple[str, int]])


def _check(crew: Crew, updates: Updates, ledger: Ledger, reliability: str) -> None:
    assert updates.done + updates.restarted
    if updates.restarted:  # grants for those who were there before are refused
        del crew.losses["rejected"]
    assert dict(+crew.losses) == {}
    assert ledger.violations == []
    everything = ledger.everything()
    assert ledger.emitted == everything
    for name in ("relay", "lowest", "odd", "named"):
        assert ledger.arrived[name] == everything
    assert {key: counts[-1] for key, counts in ledger.told.items()} == ledger.expected
    assert all(counts == list(range(1, len(counts) + 1)) for counts in ledger.told.values())
    assert set(ledger.arrived["watch"]) == set(everything)
    assert ledger.failed == {}
    assert ledger.acked == everything
