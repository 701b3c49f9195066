"""How far event time has come at the input of one task."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.instances.input.inflow import QueuedWatermark
from heronpy.kernel.flow.group_watermarks import GroupWatermarks
from heronpy.kernel.flow.keys import key_group
from heronpy.kernel.flow.watermarks import ChannelWatermarks
from heronpy.kernel.plans import PhysicalPlan, affected


class InputTime:
    """The watermarks of a task's channels, and of its key groups if its component hears watermarks.

    Where channels appear and vanish, and groups and waiting rows move between tasks, five rules keep what was
    on time from becoming late (docs/protocol.md, "Watermarks"). Here are three of them: a
    watermark belongs to the plan that it was sent by; channels of what a plan has changed are unknown until
    they have spoken by that plan, and nothing advances while one is; every group has a watermark of its own.
    """

    def __init__(self, plan: PhysicalPlan, task: int) -> None:
        self._plan = plan
        self._task = task
        self._component = plan.task(task).component
        #: whether anything is to be done with watermarks at all
        self.wanted = self._component in plan.logical.timed
        self._by_group = plan.logical.component(self._component).hears_watermarks
        self._channels = ChannelWatermarks(self._sources(plan), plan.epoch)
        self._groups = GroupWatermarks(self._owned(plan))
        self._count = len(plan.key_groups.get(self._component, ()))
        #: whether no channel is waited for
        self.idle = False

    def _sources(self, plan: PhysicalPlan) -> list[int]:
        return [task.id for task in plan.upstream_of(self._component)]

    def _owned(self, plan: PhysicalPlan) -> list[int]:
        if not self._by_group:
            return []
        owners = plan.key_groups.get(self._component, ())
        return [group for group, owner in enumerate(owners) if owner == self._task]

    @property
    def floor(self) -> int:
        """How far all of the input has come: the minimum over the groups of the task."""
        return self._groups.floor

    @property
    def lowest(self) -> int | None:
        """The task that is waited for."""
        return self._channels.lowest

    @property
    def differs(self) -> bool:
        """Whether the watermark of a key may be beyond the floor."""
        return self._groups.differ

    def of_key(self, key: object) -> int:
        """The watermark of the group of a key; it never sinks, whichever task owns the group."""
        if not self._groups.differ:
            return self._groups.floor
        return self._groups.of(key_group(key, self._count))

    def take(self, item: QueuedWatermark) -> bool:
        """An emitter has come so far; whether that is news for the task."""
        was = self.floor, self.idle
        self._channels.say(item.source, item.epoch, item.at, idle=item.idle)
        self._look()
        return (self.floor, self.idle) != was

    def _look(self) -> None:
        low = self._channels.low
        if low is None:
            self.idle = False
            return
        reached, self.idle = low
        self._groups.advance(reached)

    def use_plan(self, plan: PhysicalPlan) -> None:
        """Another plan is in force."""
        before, self._plan = self._plan, plan
        changed = affected(before, plan)
        anew = [
            task.id
            for task in plan.upstream_of(self._component)
            if task.component in changed or self._component in changed
        ]
        self._channels.use_plan(self._sources(plan), anew, plan.epoch)
        self._look()  # one that has left may have been the lowest

    def begin_anew(self, came: Mapping[int, int]) -> None:
        """The task has other groups, some of which came with a watermark. The floor may be lower now."""
        self._groups.begin_anew(self._owned(self._plan), came)
        self._look()

    def saved(self) -> dict[int, int]:
        """Group → how far it has been worked."""
        return self._groups.all() if self._by_group else {}
