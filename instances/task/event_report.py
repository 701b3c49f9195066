"""What one task says of event time, in beats and metrics: how far it has come, and what keeps it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from heronpy.kernel.flow.watermarks import END, UNKNOWN
from heronpy.kernel.protocol import EventTime

if TYPE_CHECKING:
    from heronpy.bolt import Bolt
    from heronpy.instances.task.build import TaskWiring
    from heronpy.spout import Spout

#: seconds between two questions to the component
_EVERY = 1.0


class EventReport:
    """Of a task that watermarks go through. Read by the control thread."""

    def __init__(self, component: Spout | Bolt, parts: TaskWiring) -> None:
        self._input = parts.input_time
        self._following = parts.outbox.following
        self._wall = parts.wall
        self._is_spout = parts.inflow.is_source
        self._component = component
        self._held_by: Callable[[], str | None] | None = getattr(component, "held_by", None)
        #: what of its own keeps the component back, as it said last
        self._held = ""
        parts.counters.event_time = self._measured
        if self._held_by is not None and self._input.wanted:
            parts.schedule.every(_EVERY, self.ask)

    def ask(self) -> None:
        """Called by the task's own thread."""
        if self._held_by is not None:
            self._held = self._held_by() or ""

    def beat(self) -> EventTime | None:
        """Safe from any thread."""
        if not self._input.wanted:
            return None
        begins = self._begins
        return EventTime(
            input=self._input.floor,
            output=self._following.watermark,
            waits_for=0 if begins else self._input.lowest or 0,
            held_by=self._held,
            idle=self._following.idle if begins else self._input.idle,
            begins=begins,
        )

    @property
    def _begins(self) -> bool:
        """Whether event time begins here. A bolt knows that when it is initialized."""
        return self._is_spout or getattr(self._component, "begins_time", False)

    def _measured(self) -> tuple[float, float] | None:
        """The low watermark of the task, and how far that is behind the time of day."""
        at = self._following.watermark if self._begins else self._input.floor
        if not self._input.wanted or not UNKNOWN < at < END:
            return None
        return at / 1e6, self._wall() - at / 1e6
