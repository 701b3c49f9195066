"""Lost tuples, as an interval: the counts of all incarnations, and bounds for what none could count.

Decides; does no I/O and has no clock of its own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple

from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import InstanceBeat, ProcessBeat

#: a dead task's beat may be repeated, and a successor may not have contacted its neighbours, for this long
SLACK = 5.0
#: deaths that are remembered in case a neighbour turns out to have died as well
REMEMBERED = 1000


class Lost(NamedTuple):
    """Lower and upper bound of a number of lost tuples."""

    least: int = 0
    most: int = 0


class Death(NamedTuple):
    """A task was replaced by another incarnation, with all tasks of its process."""

    #: time of the last beat of the dead incarnation, and of the first of its successor
    last: float
    first: float
    #: tuples that may have been in flight from it
    exposed: int

    def coincides(self, other: Death) -> bool:
        """Whether both tasks may have been dead at the same time."""
        return self.last - SLACK <= other.first and other.last - SLACK <= self.first


class TupleLosses:
    """Adds up over incarnations.

    A receiver counts what an emitter that died may have held, and an emitter what a receiver may have. When
    both die before either knows of the other's successor, only the emitter's last beat has the number.
    """

    def __init__(self, plan: PhysicalPlan) -> None:
        self._beats: dict[int, InstanceBeat] = {}
        #: of the process of each task
        self._incarnations: dict[int, int] = {}
        self._heard: dict[int, float] = {}
        #: of the incarnations before the one that runs
        self._before: defaultdict[int, Lost] = defaultdict(Lost)
        #: the last death of each task
        self._deaths: dict[int, Death] = {}
        #: deaths of emitters whose in-flight tuples are not counted yet
        self._uncounted: deque[tuple[int, Death]] = deque(maxlen=REMEMBERED)
        #: task → incarnation that ends as planned: it has handed over all that it had
        self.planned: Mapping[int, int] = {}
        self.use_plan(plan)

    def use_plan(self, plan: PhysicalPlan) -> None:
        """The routing between tasks from now on."""
        # One set for all tasks of a component: as many sets as tasks would have the square of their number.
        readers = {
            component.name: frozenset(reader.id for reader in plan.downstream_of(component.name))
            for component in plan.logical.components
        }
        self._below = {task.id: readers[task.component] for task in plan.tasks}
        # A later task may have the id of one that has retired, and has lost nothing yet.
        for known in (self._beats, self._incarnations, self._heard, self._before, self._deaths):
            for task in known.keys() - self._below.keys():
                del known[task]

    def on_beat(self, process: ProcessBeat, now: float) -> None:
        for beat in process.instances:
            # another one is of the next plan, or of an earlier one
            if beat.task in self._below:
                self._on_task(beat, process.incarnation, now)

    def _on_task(self, beat: InstanceBeat, incarnation: int, now: float) -> None:
        known = self._incarnations.get(beat.task)
        if known is not None and incarnation < known:
            return
        if known is not None and incarnation > known:
            self._on_death(beat.task, now)
        self._beats[beat.task], self._incarnations[beat.task] = beat, incarnation
        self._heard[beat.task] = now

    def of(self, task: int) -> Lost:
        beat = self._beats.get(task, InstanceBeat())
        before = self._before[task]
        return Lost(before.least + beat.missing, before.most + beat.missing + beat.maybe_lost)

    def _on_death(self, task: int, now: float) -> None:
        dead = self._beats[task]
        least, most = self._before[dead.task]
        self._before[dead.task] = Lost(least + dead.missing, most + dead.missing + dead.maybe_lost)
        if self._incarnations[task] == self.planned.get(task):
            return
        death = Death(self._heard[dead.task], now, dead.exposed)
        self._deaths[dead.task] = death
        self._uncounted.append((dead.task, death))
        for _ in range(len(self._uncounted)):
            emitter, death = self._uncounted.popleft()
            if self._neighbour_died_too(emitter, death):
                least, most = self._before[emitter]
                self._before[emitter] = Lost(least, most + death.exposed)
            else:
                self._uncounted.append((emitter, death))

    def _neighbour_died_too(self, emitter: int, death: Death) -> bool:
        return any(
            death.coincides(self._deaths[reader])
            for reader in self._below.get(emitter, ())
            if reader in self._deaths
        )
