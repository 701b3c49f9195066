"""A clock that jumps from event to event, dice, and processes that take turns."""

from __future__ import annotations

import heapq
import itertools
import logging
import math
import random
import threading
from collections.abc import Callable

from support.simulation.stage import Stage

#: what the least turn of a process costs, so that time goes on
TURN = 150e-6


_ENGINE_LOG = logging.getLogger("heronpy")


class Killed(BaseException):
    """Ends a simulated process in the middle of whatever it does."""


class _LogLines(logging.Handler):
    """Puts what the engine logs into the trace."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        self._world.note(f"    {record.getMessage()}")


class World:
    """Everything happens at its time; equal seeds give equal worlds."""

    def __init__(self, seed: int, *, tracing: bool = False) -> None:
        self.dice = random.Random(seed)
        self.now = 0.0
        self.trace: list[str] | None = [] if tracing else None
        self._log_lines = _LogLines(self)
        if tracing:
            _ENGINE_LOG.addHandler(self._log_lines)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = itertools.count()
        self._until = 0.0
        self._halted = False
        self.stage = Stage(self._step)
        self.processes: list[Process] = []

    def at(self, time: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._sequence), call))

    def after(self, delay: float, call: Callable[[], None]) -> None:
        self.at(self.now + delay, call)

    def run(self, until: float) -> None:
        """Let time pass, until then or until somebody calls halt()."""
        self._until = until
        self._halted = False
        self.stage.play()
        if not self._halted:
            self.now = until

    def halt(self) -> None:
        self._halted = True

    def close(self) -> None:
        """End every process and every thread."""
        for process in self.processes:
            process.kill()
        self.run(self.now)
        self.stage.close()
        _ENGINE_LOG.removeHandler(self._log_lines)

    def note(self, text: str) -> None:
        """A line of the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.now:9.4f} {text}")

    def _step(self) -> bool:
        if self._halted or not self._events or self._events[0][0] > self._until:
            return False
        time, _, call = heapq.heappop(self._events)
        self.now = max(self.now, time)
        call()
        return True


class Process:
    """Something that takes turns, may stand still for a while, and may die at any moment."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.alive = True
        #: seconds that the turn in hand has taken so far
        self.busy = 0.0
        self._free_at = 0.0
        self._frozen_until = 0.0
        self._wake_at = math.inf
        self._waiting: threading.Lock | None = None
        self._calls_left: int | None = None
        #: control messages that wait for its next turn
        self._calls: list[Callable[[], None]] = []
        world.processes.append(self)

    def now(self) -> float:
        """Its own clock: ahead of the world's while it works."""
        return self.world.now + self.busy

    def spend(self, seconds: float) -> None:
        """Work for a while. Called by what runs inside the process; it may be the last thing that it does."""
        self.busy += seconds
        if self._calls_left is not None:
            self._calls_left -= 1
            if self._calls_left < 0:
                self.kill()
        if not self.alive:
            raise Killed

    def wake(self, time: float) -> None:
        """Something to do from this time on."""
        time = max(time, self._free_at)
        if time < self._wake_at and self.alive:
            self._wake_at = time
            self.world.at(time, self._due)

    def post(self, call: Callable[[], None]) -> None:
        """A control message: it is served in the next turn."""
        self._calls.append(call)
        self.wake(self.world.now)

    def freeze(self, seconds: float) -> None:
        """As with SIGSTOP: no turns for a while."""
        self._frozen_until = max(self._frozen_until, self.world.now + seconds)

    @property
    def frozen(self) -> bool:
        return self._frozen_until > self.world.now

    def doom(self, calls: int, seconds: float) -> None:
        """Die in the middle of one of the next calls, or after a while if there are not that many."""
        self._calls_left = calls
        self.world.after(seconds, self.kill)

    def kill(self) -> None:
        """As with SIGKILL: nothing of it runs any more, and its sockets close."""
        if self.alive:
            self.world.note(f"{self.name} dies")
            self.alive = False
            self.on_killed()
            if self._waiting is not None:
                self.world.at(self.world.now, self._unwind)

    def wait(self, until: float) -> None:
        """Wait in the middle of a turn."""
        self._free_at, self.busy = self.now(), 0.0
        self.wake(until)
        self.world.stage.wait(self._park)
        if not self.alive:
            raise Killed

    def turn(self) -> float:
        """Do something; the time at which to go on if nothing comes before."""
        raise NotImplementedError

    def on_killed(self) -> None:
        """Close the sockets."""

    def _park(self, lock: threading.Lock) -> None:
        self._waiting = lock

    def _unwind(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.world.stage.resume(waiting)

    def _due(self) -> None:
        now = self.world.now
        if self._wake_at > now or not self.alive:
            return
        self._wake_at = math.inf
        if self._frozen_until > now:
            self.wake(self._frozen_until)
        elif self._waiting is not None:
            self._unwind()
        else:
            self._take_turn()

    def _take_turn(self) -> None:
        self.busy = TURN
        calls, self._calls = self._calls, []
        try:
            for call in calls:
                call()
            following = self.turn()
        except Killed:
            return
        self._free_at, self.busy = self.now(), 0.0
        self.wake(following)
