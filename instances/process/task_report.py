"""What one task of a process says of itself, in every beat and every metrics report of the process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from heronpy.instances.counters import Counters
from heronpy.instances.poison.finding import Finding
from heronpy.instances.progress import Progress
from heronpy.instances.task.build import Task
from heronpy.kernel.protocol import HoldUp, InstanceBeat, Sample
from heronpy.kernel.protocol.ending import Ending

#: a call into user code is worth mentioning after this long
LONG_CALL = 5.0
#: samples that have not changed are told again at every so manieth time: a report may have been lost
UNTOLD = 10
#: characters of an error that are reported; all of it is in the instance's log
SHOWN = 20_000


class Condition(NamedTuple):
    """Replaced as a whole, because two threads use it."""

    state: str
    error: str = ""
    traceback: str = ""


class Call(NamedTuple):
    """A turn of the user's code, and since when it has lasted."""

    name: str
    since: float


class TaskReport:
    """Written by the task's thread, for all that are built in its place; read by the control thread."""

    def __init__(self, task: int, tell: Callable[[], None]) -> None:
        """`tell` sends a beat of the process now, and is safe from any thread."""
        self.task = task
        self.tell = tell
        self.progress = Progress()
        self.counters = Counters(self._on_loss)
        #: the tuple that was refused last because it kills the task, in words
        self.poison = ""
        self._poison: Finding | None = None
        #: the figures of the last samples, and how often they have been the same since
        self._told: tuple[object, ...] = ()
        self._untold = 0
        #: whether they had changed when samples were last asked for
        self.has_moved = False
        self._condition = Condition("starting")
        self._errors = 0
        self._call: Call | None = None
        #: what runs; until its successor is built, what was built last
        self._built: Task | None = None
        #: what had been lost, certainly or perhaps, when the run began
        self._lost_before = 0

    def renew(self) -> None:
        """A task is about to be built, perhaps in place of another."""
        self.counters.begin()
        self.progress.ending = Ending.NOT_YET
        self._lost_before = self._lost

    def speak_for(self, built: Task) -> None:
        self._built = built

    def know(self, poison: Finding) -> None:
        """What is known of tuples that kill the task."""
        self._poison = poison
        self.poison = poison.shown

    def refused(self, tup: str) -> None:
        self.poison = tup
        self.tell()

    def excuse(self) -> None:
        """The process ends, and no tuple is to blame. Safe from any thread."""
        if self._poison is not None:
            self._poison.excuse()

    def become(self, state: str, error: str = "", traceback: str = "") -> None:
        """Told at once."""
        self._condition = Condition(state, error[:SHOWN], traceback[-SHOWN:])
        if state == "failed":
            self._errors += 1
        self.tell()

    def reach_end(self, level: Ending) -> None:
        """Told at once when it changes: the topology may be finished by it."""
        if level != self.progress.ending:
            self.progress.totals = self.counters.totals()
            self.progress.ending = level
            self.tell()

    def enter_run(self, run: int) -> None:
        self.progress.run = run
        self._on_loss()

    def enter(self, call: str) -> None:
        """The user's code is called from here on."""
        self._call = Call(call, time.monotonic())

    def leave(self) -> None:
        self._call = None

    @property
    def in_call(self) -> bool:
        return self._call is not None

    @property
    def _lost(self) -> int:
        return self.counters.missing + self.counters.maybe_lost

    def _on_loss(self) -> None:
        """Told at once: the process may die before its next beat. A loss in a run ends the run."""
        run = self.progress.run
        if run and self._lost > self._lost_before:
            self.progress.broken_run = run
        self.tell()

    def beat(self) -> InstanceBeat:
        condition, counters, built = self._condition, self.counters, self._built
        beat = InstanceBeat(
            task=self.task,
            state=condition.state,
            error=condition.error,
            traceback=condition.traceback,
            busy=self._long_call(),
            missing=counters.missing,
            maybe_lost=counters.maybe_lost,
            exposed=counters.exposed,
            poison=self.poison[:SHOWN],
        )
        if built is not None:
            lasting = built.parts.outbox.hold_ups.lasting()
            beat.held_up_by.extend(HoldUp(task=task, seconds=seconds) for task, seconds in lasting.items())
            beat.held.CopyFrom(built.parts.state.held())
            event_time = built.event_time.beat()
            if event_time is not None:
                beat.event_time.CopyFrom(event_time)
            if built.saving is not None:
                beat.unchanged_since = built.saving.unchanged_since()
        self.progress.put_into(beat)
        return beat

    def _long_call(self) -> str:
        call = self._call
        if call is None:
            return ""
        lasting = time.monotonic() - max(call.since, self.counters.returned_at)
        if lasting <= LONG_CALL:
            return ""
        culprit = self._built.held_up_by() if self._built is not None else ""
        where = f", waiting for credit from {culprit}" if culprit else ""
        return f"{call.name}() for {lasting:.0f} s{where}"

    def changed_samples(self) -> list[Sample]:
        """None at all while they are as they were told last: who has those, passes them on."""
        figures = (self._errors, *self.counters.figures())
        self.has_moved = figures != self._told
        self._untold = 0 if self.has_moved else (self._untold + 1) % UNTOLD
        self._told = figures
        return [] if self._untold else self.samples()

    def forget_told(self) -> None:
        """The Metrics Manager is new: all samples are told the next time."""
        self._told = ()

    def samples(self) -> list[Sample]:
        """All that is reported of the task."""
        errors = Sample(name="errors", value=self._errors, kind="counter")
        return [*self.counters.samples(), errors]
