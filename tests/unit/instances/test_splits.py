"""Spouts whose source comes in splits: each task has its own, and a position in each."""

from __future__ import annotations

from typing import Any

import pytest

from heronpy import KeyNotOwned, Spout, Topology
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Source
from heronpy.kernel.plans.validate import validate
from heronpy.logical_plan import to_logical_plan
from heronpy.testing import TopologyTest

LOGS = {"mon": ["a", "b"], "tue": ["c"], "wed": ["d", "e", "f"]}


class Days(Spout):
    """Reads one line of each of its days in turn."""

    outputs = ["line"]
    splits: Any = list(LOGS)

    def next_tuple(self) -> None:
        for day in self.splits:
            position = self.state.get(day, 0)
            if position < len(LOGS[day]):
                self.state[day] = position + 1
                self.emit([LOGS[day][position]])


def topology_of(cls: type[Spout], par: int = 2, **config: Any) -> type[Topology]:
    class Reading(Topology):
        days = cls.spec(par=par, config=config)

    return Reading


def declaring(declared: Any) -> type[Spout]:
    return type("Declaring", (Days,), {"splits": declared})


def splits_of(topology: type[Topology]) -> tuple[str, ...]:
    return to_logical_plan(topology, Source()).component("days").splits


def test_each_split_is_read_by_one_task_which_knows_how_far_it_is() -> None:
    with TopologyTest(topology_of(Days)) as run:
        run.run_spouts()
        assert sorted(values[0] for values in run.emitted("days")) == ["a", "b", "c", "d", "e", "f"]
        assert [run.component("days", index).splits for index in range(2)] == [("mon", "tue"), ("wed",)]
        assert run.state("days") == {"mon": 2, "tue": 1, "wed": 3}


def test_the_position_in_a_split_of_another_task_is_none_of_ours() -> None:
    run = TopologyTest(topology_of(Days))
    state = run.component("days", 0).state
    with pytest.raises(KeyNotOwned) as caught:
        state["wed"] = 1
    assert str(caught.value) == (
        "split 'wed' belongs to days[1] and not to days[0]"
        " (try: for split in self.splits: self.state.get(split))"
    )
    with pytest.raises(KeyNotOwned) as caught:
        state.get("thu")
    assert str(caught.value) == (
        "'thu' is no split of 'days', so days[0] has no state for it"
        " (try: for split in self.splits: self.state.get(split))"
    )


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        (["a", "b"], ("a", "b")),
        (("a",), ("a",)),
        (3, ("0", "1", "2")),
        (classmethod(lambda cls, config: config["days"]), ("x", "y")),
        (classmethod(lambda cls, config: len(config["days"])), ("0", "1")),
        (None, ()),
        (lambda self: 5, ()),
        (property(lambda self: 5), ()),
    ],
    ids=["list", "tuple", "number", "asked", "asked for a number", "none", "a method", "a property"],
)
def test_splits_are_declared_in_the_class(declared: Any, names: tuple[str, ...]) -> None:
    assert splits_of(topology_of(declaring(declared), days=["x", "y"])) == names


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        (["a", "b", "a"], "spout 'days': has two splits called 'a'"),
        (["a", 1], "spout 'days': the name of a split must be a string that is not empty, got 1"),
        (["a", None], "spout 'days': the name of a split must be a string that is not empty, got None"),
        ([""], "spout 'days': the name of a split must be a string that is not empty, got ''"),
        ([], "spout 'days': has no splits, so it would read nothing"),
        (0, "spout 'days': has no splits, so it would read nothing"),
        ("abc", "spout 'days': splits must be a list of names or a number, got 'abc'"),
        (True, "spout 'days': splits must be a list of names or a number, got True"),
        (
            classmethod(lambda cls, config: None),
            "spout 'days': splits must be a list of names or a number, got None",
        ),
    ],
)
def test_splits_that_cannot_be_are_refused_at_submit(declared: Any, complaint: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        splits_of(topology_of(declaring(declared)))
    assert str(caught.value).partition(" (try: ")[0] == complaint


def test_tasks_without_a_split_are_worth_a_warning() -> None:
    plan = to_logical_plan(topology_of(Days, par=4), Source())
    assert validate(plan) == ["spout 'days' has parallelism 4 and 3 splits: some of its tasks have none"]
    with TopologyTest(topology_of(Days, par=4)) as run:
        run.run_spouts()
        assert [run.component("days", index).splits for index in range(4)].count(()) == 1
        assert run.state("days") == {"mon": 2, "tue": 1, "wed": 3}
