"""Keeps the children of one executor alive: which should run, which run, which are due to start."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from heronpy.container.processes.child import Start
from heronpy.container.restart_policy import RestartPolicy, Restarts
from heronpy.kernel.launch import Child, Role
from heronpy.kernel.liveness.lifeline import lifeline
from heronpy.kernel.liveness.silence import SilenceDetector
from heronpy.kernel.tree.paths import START_BITS, ChildView

log = logging.getLogger(__name__)

#: the incarnation of the first executor that a container has
FIRST = 1

#: a child without a heartbeat for this long, or for half of the silence limit, is shown as silent
QUIET_SECONDS = 8.0

#: the first heartbeat comes when all is imported and the loop runs; on a busy machine that takes a while
START_SECONDS = 30.0


class DesiredChild(msgspec.Struct, frozen=True):
    """A process that should run."""

    role: Role
    name: str
    slot: int = 0
    #: those that live in it; they may come and go while it runs
    tasks: tuple[int, ...] = ()
    start: Literal["zygote", "spawn"] = "zygote"

    def is_same(self, other: DesiredChild | None) -> bool:
        """Whether one process can be both, whichever tasks live in it."""
        return other is not None and self == msgspec.structs.replace(other, tasks=self.tasks)


class Moment(msgspec.Struct, frozen=True):
    """One moment on both clocks: monotonic for deadlines, wall clock for display."""

    now: float
    wall: float


class SupervisedChild:
    """One child, over all its restarts."""

    def __init__(self, wanted: DesiredChild, clock: Moment) -> None:
        self.wanted = wanted
        self.restarts = Restarts()
        #: 0 while it is not running, or its start is not confirmed yet
        self.pid = 0
        #: 0 while it is not started
        self.incarnation = 0
        #: the last one that has ended
        self.gone = 0
        #: this process's end of the lifeline, None while the child is not started
        self.lifeline: socket.socket | None = None
        self.started = 0.0
        #: when to start it, while it is not started
        self.due = clock.now
        #: when to send SIGKILL, while it is leaving
        self.patience: float | None = None
        #: why it was killed, until it is reaped
        self.verdict = ""
        self.last_exit = ""
        self.since = clock.wall
        #: given up after too many restarts; only a restart of the container tries again
        self.given_up = False

    def view(self, *, quiet: bool) -> ChildView:
        state: Literal["running", "silent", "waiting", "given_up"] = "waiting"
        if self.pid:
            state = "silent" if quiet or self.verdict else "running"
        elif self.given_up:
            state = "given_up"
        return ChildView(
            self.pid,
            state,
            self.restarts.total,
            self.last_exit,
            self.since,
            self.restarts.streak,
            self.gone,
            self.wanted.tasks,
        )

    def signal(self, number: signal.Signals) -> None:
        # a child that is not reaped keeps its pid, so this cannot hit another process
        if self.pid:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with all that it forked, even if it is stopped."""
        self.signal(signal.SIGKILL)
        if self.pid:
            # the process group exists only once the child has made it
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def let_go(self) -> None:
        """Close the lifeline: if the process still runs, it ends."""
        if self.lifeline is not None:
            self.lifeline.close()
            self.lifeline = None


#: called to start a child; the pid comes back through Supervisor.on_started
StartChild = Callable[[DesiredChild, Start, int], None]


class Supervisor:
    """All children of one executor. Waits for nothing: events go in, signals and starts come out."""

    def __init__(
        self,
        container: int,
        incarnation: int,
        policy: RestartPolicy,
        silence: float,
        start: StartChild,
        log_path: Callable[[str], str],
    ) -> None:
        self._container = container
        self._incarnation = incarnation
        self._policy = policy
        self._start = start
        self._log_path = log_path
        self._starts = 0
        #: how many children have ended, or could not be started
        self.ends = 0
        self._wards: dict[str, SupervisedChild] = {}
        #: by incarnation
        self._vigil: SilenceDetector[int] = SilenceDetector(silence)
        #: no longer wanted, not yet gone
        self._leaving: list[SupervisedChild] = []

    def want(self, wanted: Iterable[DesiredChild], clock: Moment, patience: float) -> None:
        """Start the children that are new and end those that are not in the list; touch no other."""
        by_name = {each.name: each for each in wanted}
        for name, ward in list(self._wards.items()):
            if not ward.wanted.is_same(by_name.get(name)):
                del self._wards[name]
                self._dismiss(ward, clock.now + patience)
        for name, each in by_name.items():
            if name not in self._wards:
                self._wards[name] = SupervisedChild(each, clock)
            self._wards[name].wanted = each

    def lifelines(self) -> list[tuple[int, socket.socket]]:
        """Incarnation and lifeline of every child that should send heartbeats."""
        lines = ((ward.incarnation, ward.lifeline) for ward in self._wards.values())
        return [(incarnation, line) for incarnation, line in lines if line is not None]

    def hear(self, beaten: Iterable[int], clock: Moment) -> None:
        """These have sent a heartbeat since the last call. Call it before tick(), which judges silence."""
        self._vigil.look(clock.now)
        for incarnation in beaten:
            if self._vigil.awaits(incarnation):
                self._vigil.hear(incarnation)

    def tick(self, clock: Moment) -> None:
        """Start the children that are due; kill those that are silent or have not ended in time."""
        for ward in self._wards.values():
            if not ward.incarnation and not ward.given_up and ward.due <= clock.now:
                self._launch(ward, clock)
        silent = set(self._vigil.silent())
        for ward in self._wards.values():
            if ward.incarnation in silent and ward.pid:
                ward.verdict = f"silent for {self._vigil.quiet(ward.incarnation):.0f} s, killed"
                self._vigil.forget(ward.incarnation)
                log.warning("%s: %s", ward.wanted.name, ward.verdict)
                ward.kill()
        for ward in self._leaving:
            if ward.patience is not None and ward.patience <= clock.now:
                log.warning("%s did not end in time, killed", ward.wanted.name)
                ward.patience = None
                ward.let_go()
                ward.signal(signal.SIGKILL)

    def next_deadline(self) -> float | None:
        """When tick() is due next, if nothing happens before."""
        due = [ward.due for ward in self._wards.values() if not ward.incarnation and not ward.given_up]
        patience = [ward.patience for ward in self._leaving if ward.patience is not None]
        look = self._vigil.next_look()
        return min([*due, *patience, *([] if look is None else [look])], default=None)

    def on_started(self, incarnation: int, pid: int, clock: Moment) -> None:
        for ward in (*self._wards.values(), *self._leaving):
            if ward.incarnation == incarnation:
                ward.pid, ward.since = pid, clock.wall
                if ward in self._leaving:
                    ward.signal(signal.SIGTERM)
                else:
                    self._vigil.expect(incarnation, START_SECONDS)

    def on_exit(self, pid: int, status: int, clock: Moment) -> bool:
        """A process was reaped; False when it is not a known child."""
        for ward in (*self._wards.values(), *self._leaving):
            if ward.pid == pid:
                self._ended(ward, describe_exit(status), clock)
                return True
        return False

    def on_start_failed(self, incarnation: int, reason: str, clock: Moment) -> None:
        for ward in (*self._wards.values(), *self._leaving):
            if ward.incarnation == incarnation:
                self._ended(ward, f"could not start: {reason}", clock)

    def pids(self) -> set[int]:
        return {ward.pid for ward in (*self._wards.values(), *self._leaving) if ward.pid}

    def idle(self) -> bool:
        """True when no child is wanted and none is left."""
        return not self._wards and not self._leaving

    def view(self) -> dict[str, ChildView]:
        quiet = min(QUIET_SECONDS, self._vigil.patience / 2)
        return {
            name: ward.view(quiet=self._vigil.quiet(ward.incarnation) > quiet)
            for name, ward in self._wards.items()
        }

    def kill_all(self) -> None:
        """SIGKILL all children, because another executor owns the container.

        A graceful end would remove sockets that belong to their successors by now.
        """
        for ward in (*self._wards.values(), *self._leaving):
            ward.kill()

    def _launch(self, ward: SupervisedChild, clock: Moment) -> None:
        self._starts += 1
        ward.incarnation = self._incarnation << START_BITS | self._starts
        ward.started, ward.since = clock.now, clock.wall
        ward.lifeline, theirs = lifeline()
        descriptor, wanted = theirs.detach(), ward.wanted
        first = self._incarnation == FIRST and ward.restarts == Restarts()
        child = Child(
            wanted.role,
            wanted.name,
            self._container,
            ward.incarnation,
            descriptor,
            wanted.slot,
            wanted.tasks,
            first,
        )
        self._start(wanted, Start(child, self._log_path(wanted.name)), descriptor)

    def _dismiss(self, ward: SupervisedChild, until: float) -> None:
        if ward.incarnation:
            self._vigil.forget(ward.incarnation)
            ward.patience = until
            ward.signal(signal.SIGTERM)
            self._leaving.append(ward)

    def _ended(self, ward: SupervisedChild, how: str, clock: Moment) -> None:
        self.ends += 1
        ward.let_go()
        self._vigil.forget(ward.incarnation)
        ward.gone, ward.pid, ward.incarnation = ward.incarnation, 0, 0
        how, ward.verdict = ward.verdict or how, ""
        ward.last_exit, ward.since = how, clock.wall
        if ward in self._leaving:
            self._leaving.remove(ward)
            return
        past, name = ward.restarts, ward.wanted.name
        restarts, ward.due = self._policy.after_exit(past, started=ward.started, now=clock.now)
        if self._policy.gives_up(restarts):
            ward.given_up = True
            log.error("%s given up after %d restarts in a row: %s", name, past.streak, how)
            return
        ward.restarts = restarts
        log.warning("%s ended (%s), restart %d in %.1f s", name, how, restarts.total, ward.due - clock.now)


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
