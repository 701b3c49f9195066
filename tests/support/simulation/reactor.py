"""The loop of a simulated process, with the methods of the real reactor that the engine's classes use."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable

from support.simulation.sockets import Socket
from support.simulation.world import Process

from heronpy.kernel.transport import Timer

Handler = Callable[[], None]


class SimulatedReactor:
    """Serves the sockets that have something, and runs the timers that are due."""

    def __init__(self, process: Process, on_idle: Callable[[float], None] | None = None) -> None:
        self._process = process
        #: called when a turn that may wait has found nothing, with the time at which it ends
        self._on_idle = on_idle
        self._handlers: dict[Socket, Handler] = {}
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()

    @property
    def stopping(self) -> bool:
        return not self._process.alive

    def register(self, source: Socket, handler: Handler, *, urgent: bool = False) -> None:
        self._handlers[source] = handler

    def unregister(self, source: Socket) -> None:
        self._handlers.pop(source, None)

    def call_later(self, delay: float, call: Handler) -> Timer:
        timer = Timer(self._process.now() + delay, 0.0, call)
        heapq.heappush(self._timers, (timer.due, next(self._sequence), timer))
        self._process.wake(timer.due)
        return timer

    def turn(self, timeout: float | None) -> None:
        if not self._serve() and timeout != 0 and self._on_idle is not None:
            self._on_idle(math.inf if timeout is None else self._process.now() + timeout)
            self._serve()
        now = self._process.now()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled:
                timer.fire(now)

    def next_due(self) -> float:
        """When there will be something to do."""
        due = self._timers[0][0] if self._timers else math.inf
        for socket in self._handlers:
            first = socket.next_due()
            if first < due:
                due = first
        return due

    def _serve(self) -> bool:
        now = self._process.now()
        ready = [handler for socket, handler in self._handlers.items() if socket.next_due() <= now]
        for handler in ready:
            handler()
        return bool(ready)
