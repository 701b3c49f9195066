"""Which run and which plan a process takes part in, and when it must begin anew."""

from __future__ import annotations

import msgspec
import pytest
from support.tasks.crew.actor import MemoryNews
from support.tasks.crew.crew import Crew
from support.tasks.crew.shop import CLASSES, Ledger, shop
from support.tasks.crew.updates import scaled

from heronpy.instances.control_events import Abandoned
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.process.joining import entry_of
from heronpy.instances.saving.run_membership import LeaveForNextRun
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.plans import PhysicalPlan, next_plan
from heronpy.kernel.tree.update import Phase, Update

NAMES = ("orders", "relay", "count", "sink", "watch", "lowest", "odd", "named", "written")
PLAN = shop(dict.fromkeys(NAMES, 1), "effectively_once")
NEW = 1 + max(task.id for task in PLAN.tasks)
SCALED = next_plan(PLAN, scaled(PLAN, {"count": 2}, NEW), PLAN.epoch + 1)


def update_to(plan: PhysicalPlan, phase: Phase) -> Update:
    return Update(number=1, epoch=plan.epoch, phase=phase, packing=scaled(plan, {}, NEW + 1))


def take_turns(crew: Crew, task: int, turns: int) -> None:
    for _ in range(turns):
        crew.loop.step(task)


def test_a_run_that_began_by_a_later_plan_is_not_entered_before_that_is_known() -> None:
    news = MemoryNews(PLAN, None, None)
    leaving = LeaveForNextRun(1, task=1, incarnation=7)
    news.checkpoints = Checkpoints(run=2, epoch=SCALED.epoch, members={1: 7})
    leaving.hear(news)
    assert entry_of(news, 1, 7) is None, "the groups of the checkpoint would go to the wrong tasks"
    news.plan = SCALED
    with pytest.raises(Abandoned):
        leaving.hear(news)
    entry = entry_of(news, 1, 7)
    assert entry is not None
    assert (entry.plan, entry.run) == (SCALED, 2)


def test_a_new_task_leaves_a_run_that_is_over_though_it_is_no_member_of_the_next_yet() -> None:
    news = MemoryNews(PLAN, update_to(SCALED, "prepare"), SCALED)
    news.checkpoints = Checkpoints(run=1, epoch=1)
    entry = entry_of(news, NEW, 7)
    assert entry is not None
    assert (entry.run, entry.waits) == (1, True)
    leaving = LeaveForNextRun(entry.run, NEW, 7)
    leaving.hear(news)
    news.checkpoints = Checkpoints(run=2, epoch=1, members={1: 3})
    with pytest.raises(Abandoned):
        leaving.hear(news)


def test_a_new_task_begins_anew_when_the_plan_that_it_waits_for_gives_way_to_another() -> None:
    plan = shop(dict.fromkeys(NAMES, 1), "at_most_once")
    first, second = (next_plan(plan, scaled(plan, {"count": 2}, NEW), plan.epoch + later) for later in (1, 2))
    crew = Crew(plan, CLASSES.__getitem__, FlowSettings(), 0, Ledger(per_split=1))
    try:
        crew.update, crew.next_plan = update_to(first, "prepare"), first
        crew.start(first, NEW, waits=True)
        actor = crew.actors[NEW]
        while not actor.ready:
            crew.loop.step(NEW)
        assert actor.news.progress.next_epoch == first.epoch
        actor.news.update = msgspec.structs.replace(update_to(second, "prepare"), number=4)
        actor.news.next_plan, actor.news.news = second, 1
        with pytest.raises(Abandoned):
            take_turns(crew, NEW, 10)
    finally:
        crew.close()
