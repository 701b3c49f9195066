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
from collections.abc import Callable, Collection
from types import FrameType

import zmq

from heronpy.kernel.transport.interface import Waited
from heronpy.kernel.transport.unix_sockets import UnixDealer, UnixRouter

Handler = Callable[[], None]

#: a wait this long may end a millisecond late
_COARSE = 0.1
#: descriptors from here on are none for select()
_SELECT_LIMIT = 1024

Waitable = zmq.Socket[bytes] | int
#: something to wait for: a socket of this package, one of ZeroMQ, or a file descriptor
Source = Waited | Waitable


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
        #: the kernel's own, until there is a ZeroMQ socket to wait for
        self._poller: select.poll | zmq.Poller = select.poll()
        self._handlers: dict[Waitable, tuple[bool, Handler]] = {}
        #: sockets that may have something to do while their descriptors are silent
        self._unix: dict[int, UnixRouter | UnixDealer] = {}
        #: all that is waited for, if select() can: unlike poll(), it waits for fractions of a millisecond
        self._selectable: list[int] | None = []
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()
        self._calls: deque[Handler] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.register(self._wake_fd, self._on_wake, urgent=True)
        self.stopping = False

    def register(self, source: Source, handler: Handler, *, urgent: bool = False) -> None:
        """Call `handler` whenever there is something to read. It must do a bounded amount of work."""
        waitable = _waitable(source)
        if isinstance(source, UnixRouter | UnixDealer):
            self._unix[source.waitable] = source
        self._handlers[waitable] = (urgent, handler)
        self._selectable = _selectable(self._handlers)
        if isinstance(waitable, int):
            self._poller.register(waitable, select.POLLIN)
        else:
            self._zmq_poller().register(waitable, zmq.POLLIN)

    def unregister(self, source: Source) -> None:
        waitable = _waitable(source)
        if self._handlers.pop(waitable, None):
            self._selectable = _selectable(self._handlers)
            if isinstance(waitable, int):
                self._unix.pop(waitable, None)
                self._poller.unregister(waitable)
            else:
                self._zmq_poller().unregister(waitable)

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
        ready = self._wait(self._patience(timeout))
        if self._unix:
            now = time.monotonic()
            ready += (fd for fd, due in self._unix.items() if due.next_due() <= now and fd not in ready)
        for urgently in (True, False):
            for waitable in ready:
                found = self._handlers.get(waitable)  # an earlier handler may have unregistered it
                if found is not None and found[0] is urgently:
                    found[1]()
        if self._timers:
            self._run_due()

    def close(self) -> None:
        # A late wake() must not write to whatever gets this descriptor next.
        closing, self._wake_fd = self._wake_fd, -1
        os.close(closing)

    def _wait(self, seconds: float | None) -> list[Waitable]:
        if seconds and seconds < _COARSE and self._selectable is not None:
            # suppressed: another thread of the user has closed a descriptor, which poll() reports as ready
            with contextlib.suppress(OSError):
                return list(select.select(self._selectable, (), (), seconds)[0])
        # Rounded up: a timer must not spin through the last part of a millisecond.
        return [
            waitable
            for waitable, _ in self._poller.poll(None if seconds is None else math.ceil(seconds * 1000))
        ]

    def _patience(self, timeout: float | None) -> float | None:
        if self.stopping or self._calls:
            return 0.0
        due = min((source.next_due() for source in self._unix.values()), default=math.inf)
        if self._timers:
            due = min(due, self._timers[0][0])
        if due < math.inf:
            until = max(0.0, due - time.monotonic())
            timeout = until if timeout is None else min(timeout, until)
        # A deadline that has just passed must not become negative, which means "for ever" to poll().
        return None if timeout is None else max(0.0, timeout)

    def _zmq_poller(self) -> zmq.Poller:
        """The one poller from now on: it waits for descriptors as well, and costs more."""
        if not isinstance(self._poller, zmq.Poller):
            self._poller = zmq.Poller()
            for waitable in self._handlers:
                self._poller.register(waitable, zmq.POLLIN)
        return self._poller

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


def _selectable(waitables: Collection[Waitable]) -> list[int] | None:
    """Those descriptors, if there is nothing else among them and select() takes them."""
    found = [waitable for waitable in waitables if isinstance(waitable, int) and waitable < _SELECT_LIMIT]
    return found if len(found) == len(waitables) else None


def _waitable(source: Source) -> Waitable:
    return source if isinstance(source, int | zmq.Socket) else source.waitable
