"""The control thread of an instance: heartbeats and control messages while user code runs."""

from __future__ import annotations

import functools
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heronpy.instances.process.notices import Notices
from heronpy.instances.process.task_report import TaskReport
from heronpy.instances.process.usage import Usage
from heronpy.kernel.errors import MessageTooLarge, ProtocolError
from heronpy.kernel.liveness.lifeline import beat
from heronpy.kernel.liveness.silence import LOOKS
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import CONTROL_SOCKET, METRICS_SOCKET, process_identity, socket_path
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import MetricsReport, ProcessBeat, unwrap, wrap
from heronpy.kernel.transport import Dealer, Reactor, Transport

log = logging.getLogger(__name__)

#: heartbeat interval towards the Stream Manager
BEAT = 1.0
#: seconds without a beat while there is nothing new
LONGEST_UNTOLD = 5.0
#: looks without news after which a process looks less often …
PATIENT = 10
#: … at intervals of so many seconds: the wake-up of an idle process costs more than what it then does
SELDOM = 3.0
#: the control thread must get its turn while user code computes
SWITCH_INTERVAL = 0.001
#: exit status when the executor is gone
ORPHANED = 75
#: … and when the control thread has failed
DUMB = 70


class ProcessId(NamedTuple):
    """Which process of its container, and which start of it."""

    slot: int
    incarnation: int


class Control:
    """Speaks for a process and all its tasks: registration, heartbeats, metrics; receives notices."""

    def __init__(
        self,
        transport: Transport,
        sockets: Path,
        process: ProcessId,
        tasks: Sequence[int],
        lifeline: int,
        silence: float,
        metrics_interval: float,
        wake: Callable[[], None],
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        #: seconds between looks that find nothing; less where silence is deadly early
        self._seldom = min(SELDOM, silence / LOOKS)
        self._begun = time.monotonic()
        self._metrics_interval = metrics_interval
        self._wake = wake
        identity = process_identity(*process)
        self._stream_manager = transport.dealer_local(socket_path(sockets, CONTROL_SOCKET), identity)
        self._metrics_manager = transport.dealer_local(socket_path(sockets, METRICS_SOCKET), identity)
        self._reactor = Reactor()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)
        self._usage = Usage()
        self._complaints = RateLimitedLog(log)
        self._planned = threading.Event()
        #: the last beat, when and over which connection it was sent, and what the tasks had done by then
        self._told = b""
        self._told_at = -math.inf
        self._told_over: int | None = None
        self._activity = 0
        #: over which connection metrics were sent
        self._reported_over = self._metrics_manager.connections
        #: what the process has been told
        self.notices = Notices()
        #: what each task says of itself
        self.reports: Mapping[int, TaskReport] = {task: TaskReport(task, self.tell) for task in tasks}

    def start(self) -> None:
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def wait_for_plan(self, stopping: Callable[[], bool]) -> PhysicalPlan | None:
        """The plan, once the active state is known as well; None when the process has to stop first."""
        while not stopping():
            if self._planned.wait(0.1):
                return self.notices.plan
        return None

    def tell(self) -> None:
        """Send a beat now. Safe from any thread."""
        self._reactor.call_from_thread(self._send_beat)

    def adopt(self, task: int) -> TaskReport:
        """The process has another task."""
        report = TaskReport(task, self.tell)
        # replaced as a whole, because the control thread goes through it
        self.reports = {**self.reports, task: report}
        self.tell()
        return report

    def disown(self, task: int) -> None:
        """It has this task no more."""
        self.reports = {number: report for number, report in self.reports.items() if number != task}
        self.tell()

    def in_call(self) -> list[int]:
        """The tasks whose code is being called; an error that ends the process is theirs."""
        return [report.task for report in self.reports.values() if report.in_call]

    def fail(self, error: str, traceback: str) -> None:
        """The process ends by an error in the code of the task that was called, or else in that of none."""
        calling = [self.reports[task] for task in self.in_call()]
        for report in calling or self.reports.values():
            report.become("failed", error, traceback)
        self._reactor.call_from_thread(self._send_metrics)

    def stop(self) -> None:
        """Send the remaining messages, then end the thread."""
        self._reactor.call_from_thread(self._reactor.stop)
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException:
            # Without this thread there are no heartbeats, and the end of the executor goes unnoticed.
            log.critical("the control thread failed", exc_info=True)
            os._exit(DUMB)

    def _serve(self) -> None:
        reactor = self._reactor
        reactor.register(self._stream_manager, self._on_stream_manager)
        reactor.register(self._metrics_manager, self._on_metrics_manager)
        reactor.register(self._lifeline, self._on_executor_gone, urgent=True)
        self._send_beat()
        self._look_later(self._live, min(BEAT, self._seldom), 0)
        self._look_later(self._beat_if_news, BEAT, 0)
        self._look_later(self._metrics_if_news, self._metrics_interval, 0)
        reactor.run()
        # The last report (why the task failed) must still leave; half a second is plenty on a unix socket.
        self._stream_manager.close(linger=0.5)
        self._metrics_manager.close(linger=0.5)
        reactor.close()

    def _look_later(self, look: Callable[[], bool], interval: float, vain: int) -> None:
        """Look again, `vain` times without news so far. What is due about now is due at one moment."""
        pause = interval if vain < PATIENT else max(interval, self._seldom)
        wait = pause - (time.monotonic() - self._begun) % pause
        if wait < pause / 4:
            wait += pause
        self._reactor.call_later(wait, functools.partial(self._look, look, interval, vain))

    def _look(self, look: Callable[[], bool], interval: float, vain: int) -> None:
        self._look_later(look, interval, 0 if look() else vain + 1)

    def _live(self) -> bool:
        beat(self._lifeline)
        return False

    def _send_beat(self) -> None:
        self._tell_beat(self._beat())

    def _beat_if_news(self) -> bool:
        """A process that only waits says so now and then: each beat wakes the Stream Manager."""
        beat, connection = self._beat(), self._stream_manager.connections
        known = beat == self._told and connection == self._told_over and connection is not None
        if not known or time.monotonic() - self._told_at >= LONGEST_UNTOLD:
            self._tell_beat(beat)
        # What holds up a task that works may begin at any moment.
        activity = sum(report.counters.activity() for report in self.reports.values())
        works, self._activity = activity != self._activity, activity
        return works or not known

    def _beat(self) -> bytes:
        # A message of its own: protobuf gives back what was in the fields of one only with all of it.
        slot, incarnation = self._process
        instances = [report.beat() for report in self.reports.values()]
        made = ProcessBeat(slot=slot, incarnation=incarnation, pid=os.getpid(), instances=instances)
        self.notices.put_into(made)
        return wrap(made)

    def _tell_beat(self, beat: bytes) -> None:
        self._told, self._told_at = beat, time.monotonic()
        self._told_over = self._stream_manager.connections
        self._stream_manager.send([beat])

    def _metrics_if_news(self) -> bool:
        self._send_metrics()
        return any(report.has_moved for report in self.reports.values())

    def _send_metrics(self) -> None:
        """One report for each task; the first has what the process uses, so that sums over tasks hold."""
        for number, report in enumerate(self.reports.values()):
            samples = report.changed_samples()
            if number == 0 and (samples or self._usage.has_moved):
                samples = [*(samples or report.samples()), *self._usage.samples()]
            if not samples:
                continue
            incarnation = self._process.incarnation
            message = MetricsReport(
                task=report.task, incarnation=incarnation, pid=os.getpid(), samples=samples
            )
            try:
                self._metrics_manager.send([wrap(message)])
            except MessageTooLarge as error:
                self._complaints.warning("metrics not sent: %s", error)

    def _on_stream_manager(self) -> None:
        for message in drain(self._stream_manager):
            self.notices.take(message)
            if self.notices.complete:
                self._planned.set()
            self._wake()
        if self._stream_manager.connections != self._told_over:
            self._send_beat()  # this Stream Manager is new, and does not know the process

    def _on_metrics_manager(self) -> None:
        drain(self._metrics_manager)
        if self._metrics_manager.connections != self._reported_over:
            # it is new, and has no samples
            self._reported_over = self._metrics_manager.connections
            for report in self.reports.values():
                report.forget_told()
            self._send_metrics()

    def _on_executor_gone(self) -> None:
        """The executor is gone, so this process could not be reaped or restarted: exit at once."""
        for report in self.reports.values():
            report.excuse()
        os._exit(ORPHANED)


def drain(dealer: Dealer) -> list[object]:
    """All control messages that are waiting; what is none is logged and dropped."""
    messages: list[object] = []
    while (parts := dealer.receive()) is not None:
        try:
            messages.append(unwrap(parts[-1]))
        except ProtocolError as error:
            log.warning("dropped a control message: %s", error)
    return messages
