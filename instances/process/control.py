"""The control thread of an instance: heartbeats and control messages while user code runs."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from heronpy.instances.progress import Progress
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.errors import MessageTooLarge, ProtocolError
from heronpy.kernel.liveness.lifeline import beat, beat_interval
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import CONTROL_SOCKET, METRICS_SOCKET, socket_path, task_identity
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.protocol import (
    CheckpointsNotice,
    Held,
    HoldUp,
    InstanceBeat,
    LiveNotice,
    MetricsReport,
    PlanNotice,
    Sample,
    UpdateNotice,
    unwrap,
    wrap,
)
from heronpy.kernel.transport import Dealer, Reactor, Transport
from heronpy.kernel.tree.update import Update

log = logging.getLogger(__name__)

#: heartbeat interval towards the Stream Manager
BEAT = 1.0
#: a call into user code is worth mentioning after this long
LONG_CALL = 5.0
#: the control thread must get its turn while user code computes
SWITCH_INTERVAL = 0.001
#: characters of an error that are reported; all of it is in the instance's log
SHOWN = 20_000
#: exit status when the executor is gone
ORPHANED = 75
#: … and when the control thread has failed
DUMB = 70


class LossCounters(Protocol):
    """The counters that a beat carries."""

    missing: int
    maybe_lost: int
    exposed: int


class Control:
    """Registration, heartbeats, metrics; receives the plan and whether to run."""

    def __init__(
        self,
        transport: Transport,
        sockets: Path,
        task: int,
        incarnation: int,
        lifeline: int,
        silence: float,
        metrics_interval: float,
        wake: Callable[[], None],
    ) -> None:
        self._task = task
        self._incarnation = incarnation
        self._lifeline = lifeline
        self._silence = silence
        self._metrics_interval = metrics_interval
        self._wake = wake
        identity = task_identity(task, incarnation)
        self._stream_manager = transport.dealer_ipc(socket_path(sockets, CONTROL_SOCKET), identity)
        self._metrics_manager = transport.dealer_ipc(socket_path(sockets, METRICS_SOCKET), identity)
        self._reactor = Reactor()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)
        self._beat = InstanceBeat(task=task, incarnation=incarnation, pid=os.getpid(), state="starting")
        self._errors = 0
        self._complaints = RateLimitedLog(log)
        self._planned = threading.Event()
        #: gives the numbers for the Metrics Manager once the task exists
        self.samples: Callable[[], list[Sample]] = list
        #: has what was lost, and what would be lost with us
        self.losses: LossCounters | None = None
        #: returns what the task keeps
        self.held: Callable[[], Held] = Held
        #: returns the checkpoint since which the task has not changed
        self.unchanged_since: Callable[[], int] = int
        #: names the task whose credit emit() waits for
        self.held_up_by: Callable[[], str] = str
        #: task → seconds for which it has given no credit by now
        self.hold_ups: Callable[[], Mapping[int, float]] = dict
        #: when the user's code last came back, inside the turn that began at in_call_since
        self.returned_at: Callable[[], float] = float
        #: since when the user's code has been in this call; 0 for not at all
        self.in_call_since = 0.0
        self.in_call = ""
        self.plan: PhysicalPlan | None = None
        self.active = True
        #: component, or "" for all → config that was given while the topology runs
        self.live_config: dict[str, dict[str, Any]] = {}
        self.checkpoints: Checkpoints | None = None
        #: the change of plan that runs, and where it leads
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        #: raised whenever any of these has changed
        self.news = 0
        self.progress = Progress()
        #: the tuple that was refused last because it kills the task, in words
        self.poison = ""
        #: called when the process ends because its executor has
        self.on_orphaned: Callable[[], None] = lambda: None

    def start(self) -> None:
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def wait_for_plan(self, stopping: Callable[[], bool]) -> PhysicalPlan | None:
        """The plan, once the active state is known as well; None when the process has to stop first."""
        while not stopping():
            if self._planned.wait(0.1):
                return self.plan
        return None

    def report(self, state: str, error: str = "", traceback: str = "") -> None:
        """Report to the Stream Manager now. Called from the task's thread."""

        def update() -> None:
            self._beat.state = state
            self._beat.error, self._beat.traceback = error[:SHOWN], traceback[-SHOWN:]
            self._send_beat()
            if state == "failed":
                self._errors += 1
                self._send_metrics()

        self._reactor.call_from_thread(update)

    def tell(self) -> None:
        """Send a beat now. Safe from any thread."""
        self._reactor.call_from_thread(self._send_beat)

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
        reactor.register(self._lifeline, self._on_executor_gone, urgent=True)
        reactor.call_every(beat_interval(self._silence), lambda: beat(self._lifeline))
        reactor.call_every(BEAT, self._send_beat)
        reactor.call_every(self._metrics_interval, self._send_metrics)
        self._send_beat()
        reactor.run()
        # The last report (why the task failed) must still leave; half a second is plenty on a unix socket.
        self._stream_manager.close(linger=0.5)
        self._metrics_manager.close(linger=0.5)
        reactor.close()

    def _send_beat(self) -> None:
        # A message of its own: protobuf gives back what was in the fields of one only with all of it.
        before, self._beat = self._beat, InstanceBeat()
        self._beat.CopyFrom(before)
        self._beat.busy = self._long_call()
        del self._beat.held_up_by[:]
        self._beat.held_up_by.extend(
            HoldUp(task=task, seconds=seconds) for task, seconds in self.hold_ups().items()
        )
        if self.losses is not None:
            self._beat.missing, self._beat.maybe_lost = self.losses.missing, self.losses.maybe_lost
            self._beat.exposed = self.losses.exposed
        self._beat.held.CopyFrom(self.held())
        self._beat.unchanged_since = self.unchanged_since()
        self._beat.poison = self.poison[:SHOWN]
        self.progress.put_into(self._beat)
        self._stream_manager.send([wrap(self._beat)])

    def _long_call(self) -> str:
        since, call = self.in_call_since, self.in_call
        lasting = time.monotonic() - max(since, self.returned_at()) if since else 0.0
        if lasting <= LONG_CALL:
            return ""
        culprit = self.held_up_by()
        where = f", waiting for credit from {culprit}" if culprit else ""
        return f"{call}() for {lasting:.0f} s{where}"

    def _send_metrics(self) -> None:
        samples = self.samples()
        if samples:
            samples.append(Sample(name="errors", value=self._errors, kind="counter"))
            report = MetricsReport(
                task=self._task, incarnation=self._incarnation, pid=os.getpid(), samples=samples
            )
            try:
                self._metrics_manager.send([wrap(report)])
            except MessageTooLarge as error:
                self._complaints.warning("metrics not sent: %s", error)

    def _on_stream_manager(self) -> None:
        for message in drain(self._stream_manager):
            if isinstance(message, PlanNotice):
                self._beat.epoch = message.epoch
                self.plan = PhysicalPlan.from_json(message.plan)
            elif isinstance(message, LiveNotice):
                self._beat.live, self._beat.live_number = message.state, message.number
                self.live_config = msgspec.json.decode(message.config) if message.config else {}
                self.active = message.state == "RUNNING"
            elif isinstance(message, CheckpointsNotice):
                self._beat.checkpoints = message.number
                self.checkpoints = Checkpoints.from_json(message.node)
            elif isinstance(message, UpdateNotice):
                self._beat.update = message.number
                self.next_plan = PhysicalPlan.from_json(message.next_plan) if message.next_plan else None
                self.update = Update.from_json(message.node)
            self.news += 1
            if self.plan is not None and self._beat.live and self.checkpoints is not None:
                self._planned.set()
            self._wake()

    def _on_executor_gone(self) -> None:
        """The executor is gone, so this process could not be reaped or restarted: exit at once."""
        self.on_orphaned()
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
