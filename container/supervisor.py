"""Keeps the children of one executor alive: who should run, who runs, who is due."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from heronpy.container.child import Start
from heronpy.container.launch import Child, Role
from heronpy.container.restart_policy import RestartPolicy, Restarts
from heronpy.kernel.tree import ChildView

log = logging.getLogger(__name__)

#: an executor's incarnation is shifted by this much; the starts of its children are counted below it
START_BITS = 20


class Wanted(msgspec.Struct, frozen=True):
    """A process that should run."""

    role: Role
    name: str
    task: int = 0
    start: Literal["zygote", "spawn"] = "zygote"


class Clock(msgspec.Struct, frozen=True):
    """One moment on both clocks: deadlines use the monotonic one, people the other."""

    now: float
    wall: float


class Ward:
    """One child, over all its lives."""

    def __init__(self, wanted: Wanted, clock: Clock) -> None:
        self.wanted = wanted
        self.restarts = Restarts()
        #: 0 while it is not running, or its start is not confirmed yet
        self.pid = 0
        #: 0 while it is not started
        self.incarnation = 0
        #: write end of its pipe, -1 while it is not started
        self.lifeline = -1
        self.started = 0.0
        #: when to start it, while it is not started
        self.due = clock.now
        #: when to send SIGKILL, while it is leaving
        self.patience: float | None = None
        self.last_exit = ""
        self.since = clock.wall

    def view(self) -> ChildView:
        state: Literal["running", "waiting"] = "running" if self.pid else "waiting"
        return ChildView(self.pid, state, self.restarts.total, self.last_exit, self.since)

    def signal(self, number: signal.Signals) -> None:
        # a child that was not reaped keeps its pid, so this cannot hit a stranger
        if self.pid:
            os.kill(self.pid, number)

    def let_go(self) -> None:
        """Close the lifeline: should the process still run, it ends."""
        if self.lifeline >= 0:
            os.close(self.lifeline)
            self.lifeline = -1


#: told how to start a child; the pid comes back through Supervisor.on_started
StartChild = Callable[[Wanted, Start, int], None]


class Supervisor:
    """All children of one executor. Waits for nothing: events go in, signals and starts come out."""

    def __init__(
        self,
        container: int,
        incarnation: int,
        policy: RestartPolicy,
        start: StartChild,
        log_path: Callable[[str], str],
    ) -> None:
        self._container = container
        self._incarnation = incarnation
        self._policy = policy
        self._start = start
        self._log_path = log_path
        self._starts = 0
        self._wards: dict[str, Ward] = {}
        #: no longer wanted, not yet gone
        self._leaving: list[Ward] = []

    def want(self, wanted: Iterable[Wanted], clock: Clock, patience: float) -> None:
        """Start who is new and end who is not in the list; touch no other."""
        by_name = {each.name: each for each in wanted}
        for name, ward in list(self._wards.items()):
            if by_name.get(name) != ward.wanted:
                del self._wards[name]
                self._dismiss(ward, clock.now + patience)
        for name, each in by_name.items():
            if name not in self._wards:
                self._wards[name] = Ward(each, clock)

    def tick(self, clock: Clock) -> None:
        """Start who is due; kill who was asked to leave and has not."""
        for ward in self._wards.values():
            if not ward.incarnation and ward.due <= clock.now:
                self._launch(ward, clock)
        for ward in self._leaving:
            if ward.patience is not None and ward.patience <= clock.now:
                log.warning("%s did not end in time, killed", ward.wanted.name)
                ward.patience = None
                ward.let_go()
                ward.signal(signal.SIGKILL)

    def next_deadline(self) -> float | None:
        """When tick() has something to do, if nothing happens before."""
        due = [ward.due for ward in self._wards.values() if not ward.incarnation]
        patience = [ward.patience for ward in self._leaving if ward.patience is not None]
        return min(due + patience, default=None)

    def on_started(self, incarnation: int, pid: int, clock: Clock) -> None:
        for ward in (*self._wards.values(), *self._leaving):
            if ward.incarnation == incarnation:
                ward.pid, ward.since = pid, clock.wall
                if ward in self._leaving:
                    ward.signal(signal.SIGTERM)

    def on_exit(self, pid: int, status: int, clock: Clock) -> bool:
        """A child was reaped; False when it is none of ours."""
        for ward in (*self._wards.values(), *self._leaving):
            if ward.pid == pid:
                self._ended(ward, describe_exit(status), clock)
                return True
        return False

    def on_start_failed(self, incarnation: int, reason: str, clock: Clock) -> None:
        for ward in (*self._wards.values(), *self._leaving):
            if ward.incarnation == incarnation:
                self._ended(ward, f"could not start: {reason}", clock)

    def pids(self) -> set[int]:
        return {ward.pid for ward in (*self._wards.values(), *self._leaving) if ward.pid}

    def idle(self) -> bool:
        """True when nobody is wanted and nobody is left."""
        return not self._wards and not self._leaving

    def view(self) -> dict[str, ChildView]:
        return {name: ward.view() for name, ward in self._wards.items()}

    def _launch(self, ward: Ward, clock: Clock) -> None:
        self._starts += 1
        ward.incarnation = self._incarnation << START_BITS | self._starts
        ward.started, ward.since = clock.now, clock.wall
        reader, ward.lifeline = os.pipe()
        wanted = ward.wanted
        child = Child(wanted.role, wanted.name, self._container, ward.incarnation, reader, wanted.task)
        self._start(wanted, Start(child, self._log_path(wanted.name)), reader)

    def _dismiss(self, ward: Ward, until: float) -> None:
        if ward.incarnation:
            ward.patience = until
            ward.signal(signal.SIGTERM)
            self._leaving.append(ward)

    def _ended(self, ward: Ward, how: str, clock: Clock) -> None:
        ward.let_go()
        ward.pid = ward.incarnation = 0
        ward.last_exit, ward.since = how, clock.wall
        if ward in self._leaving:
            self._leaving.remove(ward)
            return
        ward.restarts, ward.due = self._policy.after_exit(ward.restarts, started=ward.started, now=clock.now)
        log.warning(
            "%s ended (%s), restart %d in %.1f s",
            ward.wanted.name,
            how,
            ward.restarts.total,
            ward.due - clock.now,
        )


def describe_exit(status: int) -> str:
    """A wait status in words."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exit {code}"
    return f"signal {-code} ({_SIGNAL_WORDS.get(-code) or signal.strsignal(-code) or 'unknown'})"


_SIGNAL_WORDS: dict[int, str] = {
    signal.SIGKILL: "killed",
    signal.SIGTERM: "terminated",
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "aborted",
}
