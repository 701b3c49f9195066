"""A Topology Master that dies, or is stopped and wakes again, between any two of its writes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from support.tasks.puppets import (
    TREE,
    Conductor,
    Crew,
    Died,
    Reliability,
    Steps,
    packing,
    proposal,
    submitted,
)

from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.config import Config
from heronpy.kernel.master.fenced_node import Replaced
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.update import CLOSED, Update

GUARANTEES: tuple[Reliability, ...] = ("at_most_once", "effectively_once")

CHECKPOINT = (
    "checkpoint.starting",
    "checkpoint.started",
    "checkpoint.manifest.writing",
    "checkpoint.manifest.written",
    "checkpoint.completing",
    "checkpoint.completed",
    "checkpoint.collected",
)
RESTORE = ("restore.everybody_there", "restore.run.writing", "restore.run.written")
UPDATE = (
    "update.next_plan.writing",
    "update.next_plan.written",
    "update.prepare.writing",
    "update.prepare",
    "update.cut.writing",
    "update.cut",
    "update.load.writing",
    "update.load",
    "update.committing",
    "update.committed",
    "update.release.writing",
    "update.release",
    "update.packing.writing",
    "update.packing.written",
    "update.done.writing",
    "update.done",
)
MEMBERS = ("update.members.writing", "update.members.written")
RESTART = ("update.restart.asking", "update.restart.asked")


def with_members(steps: tuple[str, ...]) -> tuple[str, ...]:
    at = steps.index("update.committing")
    return (*steps[:at], *MEMBERS, *steps[at:])


def saved(conductor: Conductor, checkpoint: int) -> bool:
    complete = conductor.master_state.node.complete
    return bool(complete) and complete[-1].id >= checkpoint


def over(conductor: Conductor) -> bool:
    update = conductor.master_state.update.value
    return update is not None and update.phase in CLOSED


def begun(state: StateManager, config: Config, reliability: Reliability) -> Conductor:
    """A topology that runs and has one checkpoint."""
    submitted(state, reliability)
    conductor = Conductor(state, config, Crew(state, config))
    conductor.until(lambda: saved(conductor, 1))
    return conductor


def dies_at(name: str, act: Callable[[], None]) -> None:
    with Steps(name), pytest.raises(Died, match=name):
        act()


def check_readable(conductor: Conductor) -> None:
    for ref in conductor.master_state.node.complete:
        manifest = read_manifest(conductor.crew.store, ref)
        for part in manifest.parts().values():
            read_part(conductor.crew.store, part)


def check_wholly(conductor: Conductor, state: StateManager, after: PackingPlan) -> str:
    """Everything is of the old plan, or everything of the new one; which of them."""
    update = conductor.master_state.update.value
    assert isinstance(update, Update)
    packed = PackingPlan.from_json(state.get(TREE.packing_plan).value)
    conductor.master_state.reread_plan()
    if update.phase == "done":
        assert conductor.master_state.plan.epoch == update.epoch
        assert packed == after
    else:
        assert update.phase == "rolled_back"
        assert conductor.master_state.plan.epoch == 1
        assert packed == packing(2, 3)
    if conductor.master_state.has_runs:
        members = conductor.master_state.node.members
        assert {task.id for task in conductor.master_state.plan.tasks} <= set(members)
    return update.phase


@pytest.mark.parametrize("reliability", GUARANTEES)
def test_all_steps_are_taken_in_this_order(
    state: StateManager, config: Config, reliability: Reliability
) -> None:
    with Steps() as steps:
        conductor = begun(state, config, reliability)
    first = ("checkpoint.taking_over", "checkpoint.taken_over")
    restore = RESTORE if reliability == "effectively_once" else ()
    assert tuple(steps.seen) == (*first, *restore, *CHECKPOINT)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    with Steps() as steps:
        conductor.until(lambda: over(conductor))
    update = with_members(UPDATE) if reliability == "effectively_once" else UPDATE
    assert tuple(steps.seen) == (*update, "checkpoint.collected")
    assert check_wholly(conductor, state, packing(2, 3, 4, epoch=2)) == "done"


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("name", CHECKPOINT)
def test_dies_in_a_checkpoint(
    state: StateManager, config: Config, reliability: Reliability, name: str
) -> None:
    first = begun(state, config, reliability)
    dies_at(name, lambda: first.until(lambda: saved(first, 2)))
    second = Conductor(state, config, first.crew, incarnation=2)
    second.until(lambda: saved(second, 4))
    check_readable(second)
    assert second.master_state.node.run == (1 if reliability == "effectively_once" else 0)


@pytest.mark.parametrize("name", RESTORE)
def test_dies_in_a_restore(state: StateManager, config: Config, name: str) -> None:
    first = begun(state, config, "effectively_once")
    first.crew.incarnations[3] = 2
    dies_at(name, lambda: first.until(lambda: first.master_state.node.run == 3))
    second = Conductor(state, config, first.crew, incarnation=2)
    second.until(lambda: second.master_state.node.run == 2)
    assert second.master_state.node.members == {1: 1, 2: 1, 3: 2}
    assert second.master_state.node.base is not None
    second.until(lambda: saved(second, 4))
    assert second.master_state.node.run == 2
    check_readable(second)


@pytest.mark.parametrize(
    ("reliability", "name"),
    [
        *(("at_most_once", name) for name in UPDATE),
        *(("effectively_once", name) for name in with_members(UPDATE)),
    ],
)
@pytest.mark.parametrize("counters", [(2, 3, 4), (2,)])
def test_dies_in_an_update(
    state: StateManager, config: Config, reliability: Reliability, name: str, counters: tuple[int, ...]
) -> None:
    first = begun(state, config, reliability)
    state.set(TREE.update, proposal(*counters).to_json())
    dies_at(name, lambda: first.until(lambda: over(first)))
    second = Conductor(state, config, first.crew, incarnation=2)
    second.until(lambda: over(second))
    steps = with_members(UPDATE)
    # what was only proposed goes on; what was under way goes back, unless it was in force already
    begins, commits = steps.index("update.prepare"), steps.index("update.committed")
    back = begins <= steps.index(name) < commits
    assert check_wholly(second, state, packing(*counters, epoch=2)) == ("rolled_back" if back else "done")
    newest = second.master_state.node.complete[-1].id
    second.until(lambda: saved(second, newest + 1))
    assert second.master_state.node.run == (1 if reliability == "effectively_once" else 0), (
        "nobody was restored"
    )
    check_readable(second)


@pytest.mark.parametrize("name", [*UPDATE, *RESTART])
def test_dies_in_a_planned_restart(state: StateManager, config: Config, name: str) -> None:
    first = begun(state, config, "at_least_once")
    after = packing(2, 3, epoch=2)
    update = Update(number=1, epoch=2, phase="proposed", kind="restart", containers=(2,), packing=after)
    state.set(TREE.update, update.to_json())
    dies_at(name, lambda: first.until(lambda: over(first)))
    second = Conductor(state, config, first.crew, incarnation=2)
    second.until(lambda: over(second))
    if check_wholly(second, state, after) == "done":
        assert first.crew.incarnations == {3: 2}, "started again, once"
        assert first.crew.managers == {2: 2}
    else:
        assert first.crew.incarnations == {}


@pytest.mark.parametrize("reliability", GUARANTEES)
@pytest.mark.parametrize("name", [*CHECKPOINT[:6], *with_members(UPDATE)])
def test_one_that_was_stopped_and_wakes_is_harmless(
    state: StateManager, config: Config, reliability: Reliability, name: str
) -> None:
    first = begun(state, config, reliability)
    if name.startswith("update"):
        state.set(TREE.update, proposal(2, 3, 4).to_json())
    successors: list[Conductor] = []

    def is_replaced() -> None:
        second = Conductor(state, config, first.crew, incarnation=2)
        successors.append(second)
        if name.startswith("update"):
            second.until(lambda: over(second))
        newest = second.master_state.node.complete[-1].id
        second.until(lambda: saved(second, newest + 1))

    with Steps(name, then=is_replaced), contextlib.suppress(Replaced):
        for _ in range(40):
            first.turn()
    if not successors:
        assert name in MEMBERS
        assert reliability == "at_most_once"
        return
    second = successors[0]
    node, update = second.master_state.node, second.master_state.update.value
    assert second.master_state.checkpoints.read() == node, "nothing was written over the successor's word"
    assert second.master_state.update.read() == update
    if name.startswith("update"):
        check_wholly(second, state, packing(2, 3, 4, epoch=2))
    second.until(lambda: saved(second, node.complete[-1].id + 1))
    check_readable(second)
