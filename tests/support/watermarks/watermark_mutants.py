"""Engines with one rule of watermarks left out. Each must be caught by what the real one passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import pytest

from heronpy.instances.input.inflow import Inflow, QueuedEnd, QueuedFrame, QueuedWatermark
from heronpy.instances.input.input_time import InputTime
from heronpy.instances.output.channel import PendingFollower
from heronpy.instances.output.following import Following
from heronpy.kernel.flow.group_watermarks import GroupWatermarks
from heronpy.kernel.flow.watermarks import UNKNOWN, ChannelWatermarks
from heronpy.kernel.plans import PhysicalPlan
from heronpy.operators import event_timing
from heronpy.operators.stage_logic import StageLogic

Patch = Callable[[pytest.MonkeyPatch], None]


def without_epochs(patch: pytest.MonkeyPatch) -> None:
    """1: what was said by an earlier plan counts."""
    real = ChannelWatermarks.say

    def say(self: ChannelWatermarks, channel: int, epoch: int, at: int, *, idle: bool) -> None:
        real(self, channel, self._since.get(channel, epoch), at, idle=idle)

    patch.setattr(ChannelWatermarks, "say", say)


def without_unknown(patch: pytest.MonkeyPatch) -> None:
    """2: what was said before a change still holds."""
    real = ChannelWatermarks.use_plan

    def use_plan(
        self: ChannelWatermarks, channels: Collection[int], changed: Iterable[int], epoch: int
    ) -> None:
        before = self._said
        real(self, channels, changed, epoch)
        self._said = {channel: said for channel, said in before.items() if channel in self._since}

    patch.setattr(ChannelWatermarks, "use_plan", use_plan)


def without_rebased_tasks(patch: pytest.MonkeyPatch) -> None:
    """3: a task that has other groups or splits goes on saying what it said."""
    real = Following.use_plan

    def use_plan(self: Following, plan: PhysicalPlan) -> None:
        said = self._watermark.signal
        real(self, plan)
        self._watermark.signal = said

    patch.setattr(Following, "use_plan", use_plan)


def without_rebased_emitters(patch: pytest.MonkeyPatch) -> None:
    """4: an emitter begins with how far it is now, before the rows that waited."""
    patch.setattr(Following, "_least", lambda self, tasks: self.watermark)


def without_group_watermarks(patch: pytest.MonkeyPatch) -> None:
    """5: all groups of a task are where the furthest is."""
    real = GroupWatermarks.begin_anew

    def begin_anew(self: GroupWatermarks, groups: Iterable[int], came: Mapping[int, int]) -> None:
        groups = list(groups)
        furthest = max((*self.all().values(), *came.values()), default=UNKNOWN)
        real(self, groups, dict.fromkeys(groups, furthest))

    patch.setattr(GroupWatermarks, "begin_anew", begin_anew)


def overtaking(patch: pytest.MonkeyPatch) -> None:
    """A watermark does not wait for rows that wait for credit."""
    patch.setattr(PendingFollower, "due", True)


def before_alignment(patch: pytest.MonkeyPatch) -> None:
    """A watermark is not set aside with the data of a channel that is ahead of a barrier."""
    real = Inflow._queue

    def queue(self: Inflow, source: int, item: QueuedFrame | QueuedEnd | QueuedWatermark) -> None:
        if isinstance(item, QueuedWatermark):
            self.inbox.append(item)
        else:
            real(self, source, item)

    patch.setattr(Inflow, "_queue", queue)


def dropped_on_restore(patch: pytest.MonkeyPatch) -> None:
    """Key groups come back from a checkpoint without their watermark."""
    real = InputTime.begin_anew
    patch.setattr(InputTime, "begin_anew", lambda self, came: real(self, {}))


def partials_kept_back(patch: pytest.MonkeyPatch) -> None:
    """What partial aggregates hold does not leave before a barrier or a marker."""
    patch.setattr(StageLogic, "flush", lambda self: None)


def idle_without_credit(patch: pytest.MonkeyPatch) -> None:
    """A split is silent also while it is not asked."""
    patch.setattr(event_timing, "_LONGEST_LOOK", 10**18)


class WatermarkMutant(NamedTuple):
    """What is wrong, and a seed whose schedule shows it."""

    patch: Patch
    seed: int


WHEN_RESCALED: dict[str, WatermarkMutant] = {
    "unknown": WatermarkMutant(without_unknown, 10),
    "re-based tasks": WatermarkMutant(without_rebased_tasks, 5),
    "re-based emitters": WatermarkMutant(without_rebased_emitters, 0),
    "group watermarks": WatermarkMutant(without_group_watermarks, 411),
    "overtaking": WatermarkMutant(overtaking, 0),
}

WHEN_APART: dict[str, WatermarkMutant] = {"epochs": WatermarkMutant(without_epochs, 416)}

WHEN_RESTORED: dict[str, WatermarkMutant] = {
    "before alignment": WatermarkMutant(before_alignment, 6),
    "dropped on restore": WatermarkMutant(dropped_on_restore, 0),
}
