"""Groupings: which tasks a tuple goes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from support.tasks.plans import edge, plan_of

from heronpy.instances.output.groupings import Grouping, make_grouping
from heronpy.instances.output.groupings.custom import Chooser
from heronpy.kernel.errors import TopologyError
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.plans import Input, PhysicalPlan


def never(_: Input, __: Sequence[int]) -> Chooser:
    raise AssertionError


def grouping(
    kind: Any, *fields: str, par: int = 3, custom: Any = never
) -> tuple[PhysicalPlan, Grouping[int]]:
    """Lanes are the task ids themselves, so that the choice can be read off."""
    plan = plan_of(edge(kind, *fields), par=par)
    consumer = plan.logical.component("count")
    lanes = {task.id: task.id for task in plan.tasks_of("count")}
    return plan, make_grouping(plan, consumer, consumer.inputs[0], lanes, container=1, custom=custom)


def chosen(kind: Any, *fields: str, rows: int = 1, **more: Any) -> list[list[int]]:
    _, made = grouping(kind, *fields, **more)
    return [list(made.targets((f"word{number}", number))) for number in range(rows)]


@pytest.mark.parametrize("kind", ["shuffle", "none"])
def test_shuffle_is_even_to_within_one(kind: str) -> None:
    counts = Counter(task for tasks in chosen(kind, rows=100) for task in tasks)
    assert sorted(counts.values()) == [33, 33, 34]


def test_all_goes_everywhere_and_global_to_the_lowest() -> None:
    assert chosen("all") == [[2, 3, 4]]
    assert chosen("global") == [[2]]


def test_a_direct_edge_chooses_no_task() -> None:
    assert chosen("direct") == [[]]


def test_local_or_shuffle_stays_in_the_container_if_it_can() -> None:
    """Of the tasks 2, 3 and 4 only 3 is in container 1, where the emitter is."""
    assert chosen("local_or_shuffle", rows=3) == [[3], [3], [3]]
    assert {task for tasks in chosen("local_or_shuffle", rows=3, par=1) for task in tasks} == {2}


def test_fields_follows_the_key_groups_of_the_plan() -> None:
    plan, made = grouping("fields", "word")
    for word in ("a", "b", "\ud800", "", 7, None):
        assert list(made.targets((word, 0))) == [plan.key_groups["count"][key_group(word, 256)]]
    assert {made.targets((f"w{n}", n))[0] for n in range(100)} == {2, 3, 4}


def test_several_fields_make_a_tuple_in_the_order_of_the_grouping() -> None:
    plan, made = grouping("fields", "n", "word")
    assert list(made.targets(("a", 5))) == [plan.key_groups["count"][key_group((5, "a"), 256)]]


def test_a_value_that_cannot_be_a_key_is_named_with_its_field() -> None:
    _, made = grouping("fields", "word", "n")
    with pytest.raises(
        TopologyError, match=r"^field 'n' of stream 'default' of 'words' to 'count': a list cannot be a key"
    ):
        made.targets(("a", [1]))


class Chosen:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def choose_tasks(self, values: Sequence[Any]) -> Any:
        assert isinstance(values, list)
        return self.answer


def test_custom_is_told_its_tasks_and_decides() -> None:
    told: list[list[int]] = []

    def make(_: Input, tasks: Sequence[int]) -> Chooser:
        told.append(list(tasks))
        return Chosen((4, 2))

    assert chosen("custom", custom=make) == [[4, 2]]
    assert told == [[2, 3, 4]]


@pytest.mark.parametrize("answer", [[99], 2, None, [[2]], "2"])
def test_a_custom_answer_that_makes_no_sense_is_shown(answer: Any) -> None:
    with pytest.raises(TopologyError, match="must return a list of task ids out of") as caught:
        chosen("custom", custom=lambda _edge, _tasks: Chosen(answer))
    assert f"chose {answer!r}" in str(caught.value)
