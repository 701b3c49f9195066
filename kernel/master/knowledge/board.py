"""What the Topology Master knows of its topology. Decides; does no I/O and has no clock of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import msgspec

from heronpy.kernel.machine.addresses import METRICS_MANAGER, STREAM_MANAGER, process_name
from heronpy.kernel.master.knowledge.culprits import culprits
from heronpy.kernel.master.knowledge.low_watermarks import low_watermarks
from heronpy.kernel.master.knowledge.meter import Meter
from heronpy.kernel.master.knowledge.tuple_losses import Lost, TupleLosses
from heronpy.kernel.plans import PhysicalPlan, PlacedTask, is_fused
from heronpy.kernel.protocol import ContainerBeat, ContainerMetrics, EventTime, InstanceBeat, ProcessBeat
from heronpy.kernel.state_transfer import held_of
from heronpy.kernel.status import ContainerStatus, InstanceStatus, TopologyStatus
from heronpy.kernel.tree.paths import ChildView

#: seconds without a beat after which a container is missing
SILENCE = 5.0
#: states of an instance that is as it should be; one that is ready waits for the plan that it is part of
UP = ("running", "paused", "ready")
#: a reason is one line of text and names this many at most
NAMED = 5


class Board:
    """Takes in beats and metrics; gives the read model.

    Every `now` and `at` is a reading of the monotonic clock. The times of day in the read model are made of
    ages at the moment that it is asked for, so a clock that is set changes no state and no rate.
    """

    def __init__(self, plan: PhysicalPlan, header: TopologyStatus, now: float) -> None:
        self._plan = plan
        #: the parts of the status that never change: name, submitting user, …
        self._header = header
        self._started = now
        #: when all instances were first up
        self._whole_at: float | None = None
        self._heard: dict[int, float] = {}
        self._endpoints: dict[int, str] = {}
        self._incarnations: dict[int, int] = {}
        self._beats: dict[int, InstanceBeat] = {}
        #: task → the last beat of the process that it lives in
        self._processes: dict[int, ProcessBeat] = {}
        self._since: dict[int, float] = {}
        #: how often an instance has reported a failure
        self._errors: dict[int, int] = {}
        self._losses = TupleLosses(plan)
        self._meters: dict[int, Meter] = {}
        #: of the processes that are no task, by container and name
        self._managers: dict[tuple[int, str], Meter] = {}
        #: by name, as the executors publish them
        self.children: dict[str, ChildView] = {}
        #: containers that the scheduler starts no more, and why
        self.given_up: Mapping[int, str] = {}
        #: containers that the scheduler was asked to replace, and why
        self.asked: Mapping[int, str] = {}
        #: containers that are being restarted on request
        self.excused: Collection[int] = ()
        #: lost by tasks of earlier plans
        self._lost_before = Lost()

    def use_plan(self, plan: PhysicalPlan, replaced: Mapping[int, int] | None = None) -> None:
        """Another plan is in force. Losses of tasks that have retired stay counted.

        `replaced`: task → the incarnation that has handed over to its successor, and takes nothing along.
        """
        kept = {task.id for task in plan.tasks}
        for task in self._plan.tasks:
            if task.id not in kept:
                least, most = self._losses.of(task.id)
                self._lost_before = Lost(self._lost_before.least + least, self._lost_before.most + most)
        self._plan = plan
        self._header = msgspec.structs.replace(self._header, epoch=plan.epoch)
        self._losses.use_plan(plan)
        self._losses.planned = replaced or {}

    def lost(self) -> int:
        """Tuples that are known to be lost, by all tasks there ever were."""
        return self._lost_before.least + sum(self._losses.of(task.id).least for task in self._plan.tasks)

    def on_container(self, beat: ContainerBeat, now: float) -> bool:
        """False when the beat is that of a Stream Manager that was replaced."""
        if beat.incarnation < self._incarnations.get(beat.container, 0):
            return False
        self._incarnations[beat.container] = beat.incarnation
        self._heard[beat.container] = now
        self._endpoints[beat.container] = beat.endpoint
        for process in beat.processes:
            for instance in process.instances:
                self._on_instance(instance, process, now)
            self._losses.on_beat(process, now)
        # Noted here, not in status(): a topology that ran before the first status is degraded, not starting.
        if self._whole_at is None and all(self._is_up(task) for task in self._plan.tasks):
            self._whole_at = now
        return True

    def _on_instance(self, instance: InstanceBeat, process: ProcessBeat, now: float) -> None:
        task, known = instance.task, self._beats.get(instance.task)
        another = known is None or self._processes[task].incarnation != process.incarnation
        if another or known is None or known.state != instance.state:
            self._since[task] = now
        failed_before = known is not None and known.state == "failed"
        if instance.state == "failed" and not failed_before:
            self._errors[task] = self._errors.get(task, 0) + 1
        if known is not None and instance.state == "starting" and not instance.error:
            # Why its predecessor failed is worth knowing until this one runs.
            instance.error, instance.traceback = known.error, known.traceback
        self._beats[task], self._processes[task] = instance, process

    def _is_up(self, task: PlacedTask) -> bool:
        beat = self._beats.get(task.id)
        return beat is not None and beat.state in UP

    def on_metrics(self, metrics: ContainerMetrics, at: float) -> None:
        for report in metrics.reports:
            if report.task:
                self._meters.setdefault(report.task, Meter()).on_report(report, at)
            else:
                key = metrics.container, report.source
                self._managers.setdefault(key, Meter()).on_report(report, at)

    def status(self, now: float, wall: float, live: str) -> TopologyStatus:
        """`wall`: the time of day at this moment."""
        ahead = wall - now
        containers = tuple(self._container(container, now, ahead) for container in self._plan.containers())
        missing = {container.id: container.since for container in containers if container.state != "running"}
        holders = self._holders()
        instances = tuple(
            self._instance(task, holders.get(task.id), missing, now, ahead) for task in self._plan.tasks
        )
        state, reason = self.state(now, live)
        return msgspec.structs.replace(
            self._header,
            state=state,
            reason=reason,
            at=wall,
            running_since=0.0 if self._whole_at is None else self._whole_at + ahead,
            containers=containers,
            instances=instances,
            backpressure=culprits(self._plan, self._held_up(instances), wall),
            event_time=low_watermarks(self._plan, self._event_times(), wall),
            lost_min=self._lost_before.least + sum(instance.lost_min for instance in instances),
            lost_max=self._lost_before.most + sum(instance.lost_max for instance in instances),
        )

    def state(self, now: float, live: str) -> tuple[str, str]:
        """State and reason, for a small part of what the whole status of a large topology costs."""
        states = {each: self._container_state(each, now) for each in self._plan.containers()}
        lost = [each for each, state in states.items() if state == "missing" and each not in self.excused]
        down = self._not_running([each for each, state in states.items() if state != "running"])
        silent = [self._for_how_long(container, now) for container in lost]
        reason = _one_line([*self._what_is_given_up(), *self._restless(), *silent, *down])
        if self.given_up or any(child.state == "given_up" for child in self.children.values()):
            return "FAILED", reason
        if reason:
            return "STARTING" if self._whole_at is None else "DEGRADED", reason
        return live, reason

    def _for_how_long(self, container: int, now: float) -> str:
        seconds = now - self._heard.get(container, self._started)
        asked = ", another was asked for" if container in self.asked else ""
        return f"container {container} has been missing for {seconds:.0f} s{asked}"

    def _not_running(self, missing: Collection[int]) -> list[str]:
        """Instances with an error come first: they are likely the cause."""
        holders, found = self._holders(), []
        for task in self._plan.tasks:
            if task.container in self.excused:
                continue
            state, error = self._condition(task, holders.get(task.id), self._beat(task), missing)
            if state not in UP:
                what = f"{task.label} in container {task.container} is {state}"
                found.append((not error, f"{what}: {error}" if error else what))
        return [what for _, what in sorted(found, key=lambda one: one[0])]

    def _holders(self) -> dict[int, ChildView]:
        """Task → the process that it lives in, as its executor sees it."""
        return {task: child for child in self.children.values() for task in child.tasks}

    def _beat(self, task: PlacedTask) -> InstanceBeat:
        return self._beats.get(task.id) or InstanceBeat(task=task.id, state="missing")

    def _held_up(self, instances: Iterable[InstanceStatus]) -> dict[int, dict[int, float]]:
        """Hold-ups that live tasks report; a dead task is not held up."""
        return {
            one.task: {hold_up.task: hold_up.seconds for hold_up in self._beats[one.task].held_up_by}
            for one in instances
            if one.state in UP and one.task in self._beats
        }

    def _event_times(self) -> dict[int, EventTime]:
        """Also of a task that is silent: its last known value."""
        return {task: beat.event_time for task, beat in self._beats.items() if beat.HasField("event_time")}

    def _what_is_given_up(self) -> list[str]:
        """Containers and managers; a given-up instance is listed with the others that do not run."""
        return [
            *(f"container {container} was {how}" for container, how in self.given_up.items()),
            *(
                f"{name} was {_given_up(child, child.last_exit)}, see its log"
                for name, child in self._manager_children()
                if child.state == "given_up"
            ),
        ]

    def _restless(self) -> list[str]:
        """Managers that keep ending; a single end is not worth a line."""
        return [
            f"{name} has ended {child.streak} times in a row: {child.last_exit}, see its log"
            for name, child in self._manager_children()
            if child.state == "waiting" and child.streak > 1
        ]

    def _manager_children(self) -> list[tuple[str, ChildView]]:
        # Instances of a plan to come, or of the one before, are none either.
        return [(name, child) for name, child in self.children.items() if not child.tasks]

    def _container(self, container: int, now: float, ahead: float) -> ContainerStatus:
        meter = self._managers.get((container, STREAM_MANAGER), Meter())
        collector = self._managers.get((container, METRICS_MANAGER), Meter())
        return ContainerStatus(
            id=container,
            state=self._container_state(container, now),
            since=self._heard.get(container, self._started) + ahead,
            endpoint=self._endpoints.get(container, ""),
            frames=int(meter.total("frames")),
            bytes=int(meter.total("bytes")),
            backlog=int(meter.total("backlog")),
            dropped=int(meter.total("dropped")),
            rejected=int(meter.total("rejected") + collector.total("rejected")),
        )

    def _container_state(self, container: int, now: float) -> str:
        if container in self.given_up:
            return "failed"
        return "running" if now - self._heard.get(container, -math.inf) < SILENCE else "missing"

    def _condition(
        self, task: PlacedTask, child: ChildView | None, beat: InstanceBeat, missing: Collection[int]
    ) -> tuple[str, str]:
        """State and error: a dead or stopped process sends no beats, but its executor reports it."""
        if child is not None and child.state == "given_up":
            return "failed", _given_up(child, beat.error or child.last_exit)
        if task.container in missing:
            return "missing", beat.error
        if child is not None and child.state == "waiting" and child.last_exit:
            return "failed", beat.error or child.last_exit
        if child is not None and child.state == "silent":
            return "silent", beat.error
        return beat.state, beat.error

    def _instance(
        self,
        task: PlacedTask,
        child: ChildView | None,
        missing: Mapping[int, float],
        now: float,
        ahead: float,
    ) -> InstanceStatus:
        """`child` is the process that the task lives in, as its executor sees it."""
        process = self._processes.get(task.id, ProcessBeat())
        beat = self._beat(task)
        state, error = self._condition(task, child, beat, missing)
        meter = self._meters.get(task.id, Meter())
        lost = self._losses.of(task.id)
        kind = self._plan.logical.component(task.component).kind
        return InstanceStatus(
            task=task.id,
            component=task.component,
            index=task.index,
            container=task.container,
            kind=kind,
            state=state,
            since=missing.get(task.container, self._since.get(task.id, self._started) + ahead),
            pid=process.pid,
            process=process_name(task.label, task.container, fused=is_fused(self._plan.logical)),
            incarnation=process.incarnation,
            restarts=child.restarts if child else 0,
            error=error,
            traceback=beat.traceback,
            busy=beat.busy,
            held=held_of(beat.held),
            # a task that has ended reports its totals at once; its metrics come later
            emitted=max(beat.totals.emitted, int(meter.total("emitted"))),
            executed=max(beat.totals.executed, int(meter.total("executed"))),
            acked=max(beat.totals.acked, int(meter.total("acked"))),
            failed=max(beat.totals.failed, int(meter.total("failed"))),
            pending=int(meter.total("pending")),
            pending_limit=int(meter.total("pending_limit")),
            errors=self._errors.get(task.id, 0),
            emit_rate=meter.rate("emitted"),
            execute_rate=meter.rate("executed"),
            idle=meter.idle("emitted" if kind == "spout" else "executed", now),
            latency_ms=1000 * meter.ratio("busy_seconds", "calls"),
            queue=int(meter.total("queued")),
            rejected=int(meter.total("rejected")),
            waiting=min(1.0, meter.rate("waiting_seconds")),
            lost_min=lost.least,
            lost_max=lost.most,
            dropped=int(meter.dropped),
            poisoned=int(meter.total("poisoned")),
            poison=beat.poison,
            cpu_seconds=meter.total("cpu_seconds"),
            memory_bytes=int(meter.total("memory_bytes")),
            custom={**meter.custom, **beat.totals.custom},
        )


def _given_up(child: ChildView, why: str) -> str:
    return f"given up after {child.streak} restarts in a row: {why}"


def _one_line(reasons: list[str]) -> str:
    more = [f"and {len(reasons) - NAMED} more"] if len(reasons) > NAMED else []
    return "; ".join([*reasons[:NAMED], *more])
