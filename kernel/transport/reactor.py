"""One loop for every process: wait, serve what is urgent, serve the rest, run what is due."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from types import FrameType

from heronpy.kernel.transport.interface import Waited

Handler = Callable[[], None]

#: a wait this long may end a millisecond late
_COARSE = 0.1
#: descriptors from here on are none for select()
_SELECT_LIMIT = 1024

#: something to wait for: a socket of this package, or a file descriptor
Source = Waited | int


class Timer:
    """A call that is due later. Cancel it as often as you like."""

    __slots__ = ("_call", "_interval", "cancelled", "due")

    def __init__(self, due: float, interval: float, call: Handler) -> None:
        self.due = due
        self._interval = interval
        self._call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def fire(self, now: float) -> bool:
        """Run; True when it wants to run again. A late timer does not try to catch up."""
        self._call()
        self.due += self._interval
        if self.due <= now:
            self.due = now + self._interval
        return self._interval > 0 and not self.cancelled


class Reactor:
    """Handlers for sockets and descriptors, timers, and calls from other threads.

    Methods may be used from another thread only where their docstring says so.
    """

    def __init__(self) -> None:
        self._poller = select.poll()
        #: by descriptor
        self._handlers: dict[int, Handler] = {}
        self._urgent: set[int] = set()
        #: sockets that may have something to do while their descriptors are silent
        self._sockets: dict[int, Waited] = {}
        #: whether select() takes all descriptors: unlike poll(), it waits for fractions of a millisecond
        self._selectable = True
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()
        self._calls: deque[Handler] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.register(self._wake_fd, self._on_wake, urgent=True)
        self.stopping = False

    def register(self, source: Source, handler: Handler, *, urgent: bool = False) -> None:
        """Call `handler` whenever there is something to read. It must do a bounded amount of work."""
        descriptor = source if isinstance(source, int) else source.waitable
        if not isinstance(source, int):
            self._sockets[descriptor] = source
        self._handlers[descriptor] = handler
        if urgent:
            self._urgent.add(descriptor)
        self._poller.register(descriptor, select.POLLIN)
        self._selectable = max(self._handlers) < _SELECT_LIMIT

    def unregister(self, source: Source) -> None:
        descriptor = source if isinstance(source, int) else source.waitable
        if self._handlers.pop(descriptor, None):
            self._sockets.pop(descriptor, None)
            self._urgent.discard(descriptor)
            self._poller.unregister(descriptor)
            self._selectable = max(self._handlers) < _SELECT_LIMIT

    def call_later(self, delay: float, call: Handler) -> Timer:
        return self._add(Timer(time.monotonic() + delay, 0.0, call))

    def call_every(self, interval: float, call: Handler) -> Timer:
        return self._add(Timer(time.monotonic() + interval, interval, call))

    def call_from_thread(self, call: Handler) -> None:
        """Run `call` in the reactor's thread soon. Safe from any thread."""
        self._calls.append(call)
        self.wake()

    def wake(self) -> None:
        """End a wait. Safe from any thread and from a signal handler."""
        with contextlib.suppress(OSError, ValueError):  # closed already
            os.eventfd_write(self._wake_fd, 1)

    def stop(self) -> None:
        """Leave run() after this turn. Safe from any thread and from a signal handler."""
        self.stopping = True
        self.wake()

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT end run(); main thread only."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            del number, frame
            self.stop()

        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)

    def stop_on_close(self, lifeline: int) -> None:
        """End run() when the other end of this pipe is closed."""
        self.register(lifeline, self.stop, urgent=True)

    def run(self) -> None:
        while not self.stopping:
            self.turn(None)

    def turn(self, timeout: float | None) -> None:
        """Wait at most `timeout` seconds (None: until something happens), then serve everything once."""
        due, early = math.inf, []
        for descriptor, source in self._sockets.items():
            at = source.next_due()
            if at < math.inf:
                due = min(due, at)
                early.append((at, descriptor))
        ready = self._wait(self._patience(timeout, due))
        if early:
            now = time.monotonic()
            ready += [descriptor for at, descriptor in early if at <= now and descriptor not in ready]
        if len(ready) > 1:
            ready.sort(key=self._is_patient)
        for descriptor in ready:
            handler = self._handlers.get(descriptor)  # an earlier handler may have unregistered it
            if handler is not None:
                handler()
        if self._timers:
            self._run_due()

    def _is_patient(self, descriptor: int) -> bool:
        return descriptor not in self._urgent

    def close(self) -> None:
        # A late wake() must not write to whatever gets this descriptor next.
        closing, self._wake_fd = self._wake_fd, -1
        os.close(closing)

    def _wait(self, seconds: float | None) -> list[int]:
        if seconds and seconds < _COARSE and self._selectable:
            # suppressed: another thread of the user has closed a descriptor, which poll() reports as ready
            with contextlib.suppress(OSError):
                return select.select(self._handlers, (), (), seconds)[0]
        # Rounded up: a timer must not spin through the last part of a millisecond.
        waited = self._poller.poll(None if seconds is None else math.ceil(seconds * 1000))
        return [descriptor for descriptor, _ in waited]

    def _patience(self, timeout: float | None, due: float) -> float | None:
        """Seconds to wait if a socket has something to do at `due`."""
        if self.stopping or self._calls:
            return 0.0
        if self._timers:
            due = min(due, self._timers[0][0])
        if due < math.inf:
            until = due - time.monotonic()
            timeout = until if timeout is None else min(timeout, until)
        # A deadline that has just passed must not become negative, which means "for ever" to poll().
        return None if timeout is None else max(0.0, timeout)

    def _run_due(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled and timer.fire(now):
                self._add(timer)

    def _add(self, timer: Timer) -> Timer:
        heapq.heappush(self._timers, (timer.due, next(self._sequence), timer))
        return timer

    def _on_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
        for _ in range(len(self._calls)):
            self._calls.popleft()()
