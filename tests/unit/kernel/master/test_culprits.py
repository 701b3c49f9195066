"""Who is behind a back-pressure: the last one down the road, and all the spouts that it reaches."""

from __future__ import annotations

from heronpy.kernel.master.knowledge.culprits import culprits
from heronpy.kernel.plans import (
    Component,
    ContainerPlan,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    InstancePlan,
    LogicalPlan,
    PackingPlan,
    PhysicalPlan,
    Resources,
    physical_plan,
)
from heronpy.kernel.status import Backpressure

NOW = 5000.0
OUT = (DeclaredStream("default", ("value",)),)
WORDS, NUMBERS, PARSE, STORE, PLOT = range(1, 6)


def plan() -> PhysicalPlan:
    """words -> parse -> store, numbers -> plot; and words -> plot as well."""

    def reads(*components: str) -> tuple[Input, ...]:
        return tuple(Input(name, "default", DeclaredGrouping("shuffle")) for name in components)

    components = (
        Component("words", "spout", "a.W", 1, outputs=OUT),
        Component("numbers", "spout", "a.N", 1, outputs=OUT),
        Component("parse", "bolt", "a.P", 1, inputs=reads("words"), outputs=OUT),
        Component("store", "bolt", "a.S", 1, inputs=reads("parse")),
        Component("plot", "bolt", "a.L", 1, inputs=reads("numbers", "words")),
    )
    instances = [InstancePlan(task, one.name, 0) for task, one in enumerate(components, 1)]
    packed = tuple(
        ContainerPlan(number, tuple(those), Resources())
        for number, those in ((1, instances[:3]), (2, instances[3:]))
    )
    return physical_plan(LogicalPlan("t", components), PackingPlan("t", "test", packed, 6))


def test_nobody_is_to_blame_when_nobody_waits() -> None:
    assert culprits(plan(), {}, NOW) == ()
    assert culprits(plan(), {WORDS: {}, PARSE: {}}, NOW) == ()


def test_a_bolt_that_waits_itself_is_not_the_culprit() -> None:
    held_up = {WORDS: {PARSE: 9.0}, PARSE: {STORE: 12.0}, NUMBERS: {}}
    assert culprits(plan(), held_up, NOW) == (
        Backpressure(
            culprit="store[0]",
            container=2,
            since=NOW - 12,
            seconds=12.0,
            spouts=("words[0]",),
            bolts=("parse[0]",),
        ),
    )


def test_two_slow_ends_are_two_cases() -> None:
    held_up = {WORDS: {PARSE: 9.0, PLOT: 4.0}, PARSE: {STORE: 12.0}, NUMBERS: {PLOT: 5.0}}
    found = culprits(plan(), held_up, NOW)
    assert [(one.culprit, one.seconds, one.spouts, one.bolts) for one in found] == [
        ("store[0]", 12.0, ("words[0]",), ("parse[0]",)),
        ("plot[0]", 5.0, ("words[0]", "numbers[0]"), ()),
    ]


def test_a_wait_of_less_than_a_second_is_no_news() -> None:
    assert culprits(plan(), {WORDS: {PARSE: 0.9}}, NOW) == ()
    held_up = {WORDS: {PARSE: 1.2}, PARSE: {STORE: 0.1}}
    assert [one.culprit for one in culprits(plan(), held_up, NOW)] == ["parse[0]"]


def test_a_task_that_is_not_in_the_plan_any_more_is_not_blamed() -> None:
    assert culprits(plan(), {WORDS: {77: 9.0}}, NOW) == ()
