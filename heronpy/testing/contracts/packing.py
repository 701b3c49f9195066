"""The packing contract: subclass it in your tests and say how to make your resource manager."""

from __future__ import annotations

import abc
import os
from collections.abc import Iterator, Mapping

import msgspec
import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import PackingError
from heronpy.kernel.plans import (
    Component,
    DeclaredGrouping,
    DeclaredStream,
    Input,
    LogicalPlan,
    PackingPlan,
    moves,
    next_plan,
    physical_plan,
)
from heronpy.kernel.plugin import ResourceManager


class PackingContract(abc.ABC):
    """What the engine relies on, whatever the algorithm.

    ```python
    class TestMyPacking(PackingContract):
        def make(self) -> ResourceManager:
            return MyPacking()
    ```
    """

    @abc.abstractmethod
    def make(self) -> ResourceManager:
        """A fresh resource manager, not yet initialized."""

    def config(self) -> Config:
        """The settings to initialize with: the defaults, unless your plugin needs more."""
        return load_config(os.devnull, environ={})

    def topology(self) -> LogicalPlan:
        """Four words, three counts. Add to its config what your plugin needs."""
        words = Component("words", "spout", "m.Words", 4, outputs=(DeclaredStream("default", ("word",)),))
        edge = Input("words", "default", DeclaredGrouping("fields", ("word",)))
        count = Component("count", "bolt", "m.Count", 3, inputs=(edge,))
        return LogicalPlan("contract", (words, count), {"topology.stmgrs": 2})

    @pytest.fixture
    def manager(self) -> Iterator[ResourceManager]:
        manager = self.make()
        manager.initialize(self.config(), self.topology())
        yield manager
        manager.close()

    def test_it_can_be_closed_right_after_initialize(self) -> None:
        manager = self.make()
        manager.initialize(self.config(), self.topology())
        manager.close()

    def test_every_instance_is_placed_once(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        assert plan.counts() == {"words": 4, "count": 3}
        labels = [(instance.component, instance.index) for instance in plan.instances()]
        assert sorted(labels) == [
            *(("count", index) for index in range(3)),
            *(("words", i) for i in range(4)),
        ]

    def test_task_ids_count_from_one(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        assert [instance.task for instance in plan.instances()] == [1, 2, 3, 4, 5, 6, 7]
        assert plan.next_task == 8

    def test_the_first_plan_has_the_topologys_name_and_epoch_one(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        assert plan.topology == "contract"
        assert plan.epoch == 1

    def test_container_ids_are_distinct_and_leave_zero_to_the_master(self, manager: ResourceManager) -> None:
        ids = [container.id for container in manager.pack().containers]
        assert len(set(ids)) == len(ids)
        assert min(ids) >= 1

    def test_no_container_is_empty(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        shrunk = manager.repack(plan, {"words": -3, "count": -2})
        assert all(container.instances for each in (plan, shrunk) for container in each.containers)

    def test_every_instance_and_container_has_some_ram(self, manager: ResourceManager) -> None:
        for container in manager.pack().containers:
            assert container.resources.ram > 0
            assert all(instance.resources.ram > 0 for instance in container.instances)

    def test_the_same_request_gives_the_same_plan(self, manager: ResourceManager) -> None:
        again = self.make()
        again.initialize(self.config(), self.topology())
        try:
            assert again.pack() == manager.pack()
        finally:
            again.close()

    def test_a_plan_survives_being_stored(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        assert PackingPlan.from_json(plan.to_json()) == plan

    @pytest.mark.parametrize(
        "changes",
        [{}, {"count": 0}, {"count": 1}, {"count": -1}, {"words": -2, "count": 9}, {"words": 3, "count": -2}],
    )
    def test_a_repack_applies_deltas_and_moves_nobody(
        self, manager: ResourceManager, changes: dict[str, int]
    ) -> None:
        before = manager.pack()
        after = manager.repack(before, changes)
        assert_repacked(before, after, changes)

    def test_repacks_follow_one_another(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        for changes in ({"count": 5}, {"count": -6, "words": 2}, {"words": -5}, {"count": 4}):
            after = manager.repack(plan, changes)
            assert_repacked(plan, after, changes)
            plan = after
        assert plan.counts() == {"words": 1, "count": 6}
        assert plan.epoch == 5

    def test_another_process_can_repack(self, manager: ResourceManager) -> None:
        """`update` runs long after `submit`: all it has is the stored plan."""
        stored = manager.pack().to_json()
        later = self.make()
        later.initialize(self.config(), self.topology())
        try:
            before = PackingPlan.from_json(stored)
            assert_repacked(before, later.repack(before, {"count": 2}), {"count": 2})
        finally:
            later.close()

    def test_a_task_id_is_not_used_again(self, manager: ResourceManager) -> None:
        first = manager.pack()
        shrunk = manager.repack(first, {"count": -2})
        grown = manager.repack(shrunk, {"count": 2})
        new = tasks(grown) - tasks(shrunk)
        assert len(new) == 2
        assert not new & tasks(first)

    @pytest.mark.parametrize(
        "changes", [{}, {"count": 2}, {"count": -2}, {"words": 2}, {"words": -1, "count": 1}]
    )
    def test_tuples_can_be_routed_by_what_a_repack_gives(
        self, manager: ResourceManager, changes: dict[str, int]
    ) -> None:
        """Every key group has an owner among the tasks of its component; `moves` shows what changes hands."""
        packed = manager.pack()
        plan = physical_plan(self.topology(), packed)
        current = msgspec.structs.replace(packed, key_groups=plan.key_groups)
        after = next_plan(plan, manager.repack(current, changes), plan.epoch + 1)
        for component, table in after.key_groups.items():
            assert set(table) <= {task.id for task in after.tasks_of(component)}
            moved = moves(plan, after).get(component, {})
            assert [owner for group, owner in enumerate(table) if group not in moved] == [
                owner for group, owner in enumerate(plan.key_groups[component]) if group not in moved
            ]
            assert all(taker == table[group] for group, (_, taker) in moved.items())

    def test_an_unknown_component_is_refused(self, manager: ResourceManager) -> None:
        with pytest.raises(PackingError, match="coutn"):
            manager.repack(manager.pack(), {"coutn": 1})

    def test_removing_more_than_there_are_is_refused(self, manager: ResourceManager) -> None:
        with pytest.raises(PackingError, match="count"):
            manager.repack(manager.pack(), {"count": -4})

    def test_removing_everything_is_refused(self, manager: ResourceManager) -> None:
        with pytest.raises(PackingError):
            manager.repack(manager.pack(), {"words": -4, "count": -3})

    def test_a_refused_repack_leaves_the_plan_usable(self, manager: ResourceManager) -> None:
        plan = manager.pack()
        copy = PackingPlan.from_json(plan.to_json())
        with pytest.raises(PackingError):
            manager.repack(plan, {"words": 1, "count": -4})
        assert plan == copy
        assert_repacked(plan, manager.repack(plan, {"words": 1}), {"words": 1})


def assert_repacked(before: PackingPlan, after: PackingPlan, changes: Mapping[str, int]) -> None:
    """`after` is what a repack of `before` may give."""
    wanted = {name: count + changes.get(name, 0) for name, count in before.counts().items()}
    wanted |= {name: delta for name, delta in changes.items() if name not in wanted}
    assert after.counts() == {name: count for name, count in wanted.items() if count}
    assert (after.topology, after.algorithm) == (before.topology, before.algorithm)
    assert after.epoch == before.epoch + 1

    old, new = places(before), places(after)
    assert len(new) == len(after.instances())
    assert all(new[task] == old[task] for task in new.keys() & old.keys())
    for name, delta in changes.items():
        kept = sum(1 for task in new.keys() & old.keys() if old[task][0] == name)
        assert kept == min(before.counts().get(name, 0), wanted[name]), f"{name} lost instances it could keep"
        assert delta <= 0 or kept == before.counts().get(name, 0)

    for name in before.counts().keys() & after.counts().keys():
        lowest = min(task for task, place in old.items() if place[0] == name)
        assert lowest in new, f"the lowest task of {name} went before others"
    came = new.keys() - old.keys()
    assert all(before.next_task <= task < after.next_task for task in came)
    labels = [(component, index) for component, index, _ in new.values()]
    assert len(set(labels)) == len(labels)


def places(plan: PackingPlan) -> dict[int, tuple[str, int, int]]:
    """Task id → component, index, container."""
    return {
        instance.task: (instance.component, instance.index, container.id)
        for container in plan.containers
        for instance in container.instances
    }


def tasks(plan: PackingPlan) -> set[int]:
    return {instance.task for instance in plan.instances()}
