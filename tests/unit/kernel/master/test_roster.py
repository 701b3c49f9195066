"""The roster of the Topology Master, with a process that holds several tasks."""

from __future__ import annotations

from heronpy.kernel.master.knowledge.roster import Roster
from heronpy.kernel.plans import Component, LogicalPlan, PhysicalPlan, PlacedTask
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, ProcessBeat
from heronpy.kernel.tree.paths import ChildView, ExecutorNode

LOGICAL = LogicalPlan(
    "words", (Component("line", "spout", "m.Line", 1), Component("count", "bolt", "m.Count", 3))
)
#: line[0], count[0] and count[1] in one process; count[2] in one of its own
TASKS = (
    PlacedTask(1, "line", 0, 1),
    PlacedTask(2, "count", 0, 1, slot=1),
    PlacedTask(3, "count", 1, 1, slot=1),
    PlacedTask(4, "count", 2, 1),
)
PLAN = PhysicalPlan("words", 1, LOGICAL, TASKS, (), {})
MANAGER = 1


def process(incarnation: int, *tasks: int, slot: int = 1, state: str = "running") -> ProcessBeat:
    instances = [InstanceBeat(task=task, state=state) for task in tasks]
    return ProcessBeat(slot=slot, incarnation=incarnation, pid=1000 + incarnation, instances=instances)


def heard(roster: Roster, *processes: ProcessBeat) -> Roster:
    roster.on_container(ContainerBeat(container=1, incarnation=MANAGER, processes=processes))
    return roster


def child(gone: int = 0, *tasks: int, last_exit: str = "signal 9 (killed)") -> ChildView:
    return ChildView(
        pid=7, state="running", restarts=1, last_exit=last_exit, since=0.0, gone=gone, tasks=tasks
    )


def test_all_tasks_of_a_process_have_its_incarnation_and_those_of_others_do_not() -> None:
    roster = heard(Roster(), process(5, 1, 2, 3), process(6, 4, slot=4))
    assert roster.incarnations(PLAN.tasks) == {1: 5, 2: 5, 3: 5, 4: 6}
    assert [roster.process(task).pid for task in PLAN.tasks] == [1005, 1005, 1005, 1006]
    assert roster.absent(PLAN) == []


def test_a_successor_takes_the_place_of_a_process_for_each_of_its_tasks() -> None:
    roster = heard(Roster(), process(5, 1, 2, 3), process(6, 4, slot=4))
    heard(roster, process(8, 1, 2, 3, state="starting"))
    heard(roster, process(5, 1, 2, 3, state="running"))
    assert roster.incarnations(PLAN.tasks) == {1: 8, 2: 8, 3: 8, 4: 6}
    assert roster.idle(PLAN) == ["line[0] (starting)", "count[0] (starting)", "count[1] (starting)"]


def test_an_end_that_the_executor_saw_is_the_end_of_every_task_of_the_process() -> None:
    roster = heard(Roster(), process(5, 1, 2, 3), process(6, 4, slot=4))
    children = {"line[0]+2": child(5, 1, 2, 3), "count[2]": child(0, 4, last_exit="")}
    roster.executors = {1: ExecutorNode(0, pid=7, children=children)}
    assert roster.absent(PLAN) == ["line[0]", "count[0]", "count[1]"]
    assert roster.fate(PLAN.task(3)) == "count[1] ended: signal 9 (killed)"
    assert roster.doing(PLAN.task(2)) == "count[0] (ended: signal 9 (killed))"
    assert roster.doing(PLAN.task(4)) == "count[2] (running)"

    heard(roster, process(9, 1, 2, 3))
    assert roster.absent(PLAN) == []


def test_a_process_that_was_never_heard_has_no_incarnation() -> None:
    roster = heard(Roster(), process(6, 4, slot=4))
    unheard = roster.process(PLAN.task(3))
    assert (unheard.slot, unheard.incarnation, roster.incarnation(PLAN.task(3))) == (1, 0, 0)
    assert roster.absent(PLAN) == ["line[0]", "count[0]", "count[1]"]


def test_who_has_left_the_plan_is_forgotten() -> None:
    roster = heard(Roster(), process(5, 1, 2, 3), process(6, 4, slot=4))
    roster.keep_only(PhysicalPlan("words", 2, LOGICAL, TASKS[:3], (), {}))
    assert roster.incarnations(PLAN.tasks) == {1: 5, 2: 5, 3: 5, 4: 0}
