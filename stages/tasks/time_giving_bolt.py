"""A stage behind an exchange in which records get their event time: each task follows what it gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from typing_extensions import override

from heronpy.operators.event_timing import ALL, SplitTime
from heronpy.stages.tasks.timed_bolt import TimedStageBolt
from heronpy.state import KeepsNotes

if TYPE_CHECKING:
    from heronpy.context import TopologyContext

#: what a task gets of all records: one of so many tasks, with these key groups
Share: TypeAlias = tuple[int, tuple[int, ...]]
#: microseconds between two looks at whether the task has anything to do
_LOOK: Final = 1_000_000


class TimeGivingStageBolt(KeepsNotes, TimedStageBolt):
    """Splits are not known here, so all that a task gets is taken as one, which may be idle like a split.

    How far the records have come that a step gives their event time is saved for the same task, and found
    anew where the task gets other records.
    """

    #: whether watermarks of its input mean nothing, because all that leaves it gets its time here
    begins_time = False
    #: its share when it was saved, and how far the records of each step had come
    _noted: tuple[Share, dict[str, SplitTime]] | None = None

    def notes(self) -> object:
        return self._share, self._logic.split_times(ALL)

    def init_notes(self, notes: Any) -> None:
        self._noted = notes

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        super().initialize(config, context)
        self.begins_time = not self._logic.reads_time
        self._look_at: int | None = self.delegate.processing_time()
        self._share = _share_of(context)
        if self._noted is not None:
            self._go_on(*self._noted)

    def _go_on(self, share: Share, times: dict[str, SplitTime]) -> None:
        self._logic.clock(self.delegate.processing_time())
        self._logic.read([ALL], {ALL: times})
        if share != self._share:
            self._logic.share_anew()
        self._logic.advance_all(self._saved)
        self._say()

    @override
    def _arrive(self) -> None:
        self._logic.arrives(ALL, None, caught_up=False)

    def on_clock(self, now: int) -> Iterator[None]:
        yield from super().on_clock(now)
        if self._look_at is None or 0 < self._look_at - now <= _LOOK:
            return
        self._look_at = now + _LOOK
        if not self.delegate.has_input:  # what waits for a task that is slow is no silence
            self._logic.nothing([ALL])
            self._logic.settle(ALL)
            self._say()

    def due(self) -> int | None:
        """The processing time for which a step waits, or at which the task looks whether it is idle."""
        look_at, now = self._look_at, self.delegate.processing_time()
        if look_at is not None and look_at - now > _LOOK:
            look_at = now  # the clock has been set back
        return min((time for time in (super().due(), look_at) if time is not None), default=None)

    def held_by(self) -> str | None:
        """For how long the task has had nothing, in words, if it is waited for."""
        return self._logic.held_by()

    def end_of_input(self) -> None:
        self._look_at = None
        super().end_of_input()

    def on_plan_change(self, context: TopologyContext) -> None:
        super().on_plan_change(context)
        if (share := _share_of(context)) != self._share:
            self._share = share
            self._logic.share_anew()
        self._say(anew=True)  # before any row: receivers learn how far the new share of this task has come


def _share_of(context: TopologyContext) -> Share:
    plan, component = context.plan, context.get_component_id()
    owners = plan.key_groups.get(component, ())
    own = tuple(group for group, owner in enumerate(owners) if owner == context.get_task_id())
    return len(plan.tasks_of(component)), own


class TimeGivingKeyedStageBolt(TimeGivingStageBolt):
    """… and whose state is by key."""

    keyed = True
