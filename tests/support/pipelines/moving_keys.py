"""Tasks that share keys, crash and are scaled: with nothing of an engine but what it has to keep."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Hashable
from typing import Any

from heronpy.operators.stamped import Stamped
from heronpy.pipeline.times import BEGINNING, END


class MovingKeys:
    """Steps of one kind, one in each task. `make(out)` makes a step whose results go to `out`.

    Each key has a watermark of its own, which it takes along; a task goes by the lowest of its keys.
    """

    def __init__(self, make: Callable[[Callable[[Any], None]], Any], keys: str) -> None:
        self._make = make
        #: key → the results for it, in their order
        self.made: list[Any] = []
        self._watermarks: dict[Hashable, int] = dict.fromkeys(keys, BEGINNING)
        self._now = 0
        self._owner = dict.fromkeys(keys, 0)
        self._tasks: list[Any] = [self._started({})]
        self._floors = [BEGINNING]

    def move(self, tasks: int, chance: random.Random) -> None:
        """The keys are dealt out anew to so many tasks, which have just started."""
        states = {key: state for task in self._tasks for key, state in task.states.items()}
        self._owner = {key: chance.randrange(tasks) for key in self._owner}
        self._tasks, self._floors = [], []
        for number in range(tasks):
            own = [key for key, owner in self._owner.items() if owner == number]
            task = self._started({key: states[key] for key in own if key in states})
            floor = min((self._watermarks[key] for key in own), default=BEGINNING)
            self._tasks.append(task)
            self._floors.append(floor)
            task.advance(floor)
            task.clock(self._now)

    def _started(self, states: dict[Hashable, Any]) -> Any:
        task = self._make(self.made.extend)
        task.states.update({key: pickle.loads(pickle.dumps(state)) for key, state in states.items()})
        task.reload()
        task.of_key = self.watermark_of
        return task

    def watermark_of(self, key: Hashable) -> int:
        return self._watermarks[key]

    def clock(self, now: int) -> None:
        self._now = now
        for task in self._tasks:
            task.clock(now)

    def advance(self, number: int, watermark: int) -> None:
        """One task hears of a watermark; none of its keys goes back."""
        number %= len(self._tasks)
        floor = self._floors[number] = max(self._floors[number], watermark)
        # a key is at the watermark when what was due has been done
        self._tasks[number].advance(floor)
        for key, owner in self._owner.items():
            if owner == number:
                self._watermarks[key] = max(self._watermarks[key], floor)

    def record(self, key: str, time: int, value: Any) -> None:
        self._tasks[self._owner[key]].take(0, [(key, Stamped(time, value))])

    def finish(self) -> None:
        for number in range(len(self._tasks)):
            self.advance(number, END)
