"""A TopologyStatus as lines and rows; `status`, `top` and `run` show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from heronpy.cli.views.output import count, elapsed, plural
from heronpy.kernel.status import (
    Backpressure,
    CheckpointStatus,
    ContainerStatus,
    InstanceStatus,
    TopologyStatus,
)
from heronpy.stages.pipeline_keys import FAILED, LATE_DROPPED

COMPONENT_HEADERS = (
    "component",
    "kind",
    "instances",
    "in",
    "in/s",
    "out",
    "out/s",
    "latency",
    "queue",
    "errors",
    "restarts",
    "state",
)
#: the first to go where the terminal is too narrow; what is wrong has a line of its own as well
LEAVE_OUT_FIRST = ("kind", "restarts", "errors", "latency", "queue", "instances", "in", "out")
INSTANCE_HEADERS = (
    "instance",
    "container",
    "pid",
    "in",
    "in/s",
    "out",
    "out/s",
    "latency",
    "queue",
    "errors",
    "restarts",
    "cpu",
    "memory",
    "state",
)
CONTAINER_HEADERS = ("container", "state", "endpoint", "frames", "MB", "backlog", "dropped", "rejected")

#: the first of these that an instance is in is what its component is in
WORST_FIRST = ("failed", "stopped", "missing", "silent", "starting", "ready", "paused", "running")
#: share of the time spent waiting for credit from which on it is worth a line
NOTABLE_WAITING = 0.5
#: seconds without a tuple from which on it is worth a line
NOTABLE_IDLE = 10.0
#: most names in one line
NAMED = 5


def headline(status: TopologyStatus, now: float) -> str:
    """Name, state, how long ago it came up, and how it was submitted."""
    state = status.state
    if status.running_since:
        # of another state this is not the age
        state += " " if state == "RUNNING" else ", up "
        state += elapsed(now - status.running_since)
    fused = "fused" if _shared(status) else ""
    how = [part for part in (status.packing, status.scheduler, status.reliability, fused) if part]
    return "  ".join([status.name, state, *how])


def notes(status: TopologyStatus, now: float) -> list[str]:
    """One line for everything that is not as it should be; empty when all is well."""
    lines = [status.reason] if status.reason else []
    lines += status.damage
    if status.state == "FAILED":
        lines.append(f"heronpy restart {status.name} CONTAINER starts anew what was given up there")
    if status.rejected:
        lines.append(f"the topology master rejected {status.rejected} messages or connections")
    lines += [_backpressure_note(one) for one in status.backpressure]
    lines += _loss_notes(status)
    lines += _failed_records(status) + _late_records(status)
    for container in status.containers:
        lines += _container_notes(container, now, told=status.reason)
    held_up = {label for one in status.backpressure for label in (*one.spouts, *one.bolts)}
    for instance in status.instances:
        lines += _instance_notes(instance, told=status.reason, explained=instance.label in held_up)
    if status.state == "RUNNING":
        lines += standing_still(status, held_up)
    return lines


def totals(status: TopologyStatus) -> str:
    """What a finished topology has done: words FINISHED after 3.2 s: lines emitted 9, count executed 9."""
    parts = []
    for name, members in _components(status).items():
        emitted, executed, failed = (
            sum(getattr(one, what) for one in members) for what in ("emitted", "executed", "failed")
        )
        counts = [f"executed {executed:,}"] if members[0].kind == "bolt" else []
        counts += [f"emitted {emitted:,}"] if emitted or members[0].kind == "spout" else []
        counts += [f"failed {failed:,}"] if failed else []
        parts.append(f"{name} {', '.join(counts)}")
    gone = status.lost_max and status.reliability != "effectively_once"  # else it has been replayed
    lost = f"; lost between {status.lost_min:,} and {status.lost_max:,}" if gone else ""
    took = f" after {elapsed(status.at - status.running_since)}" if status.running_since else ""
    aside = "".join(f"; {note}" for note in _failed_records(status) + _late_records(status))
    return f"{status.name} {status.state}{took}: {'; '.join(parts)}{aside}{lost}"


def component_rows(status: TopologyStatus) -> list[tuple[str, ...]]:
    """One row per component, spouts first."""
    return [_component_row(name, members) for name, members in _components(status).items()]


def fitting(
    headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The same table without the columns that are too many for the width; None: there is room for all."""
    columns = list(zip(headers, *rows, strict=True))
    for name in LEAVE_OUT_FIRST:
        if width is None or sum(max(map(len, column)) + 2 for column in columns) - 2 <= width:
            break
        columns = [column for column in columns if column[0] != name]
    kept_headers, *kept_rows = zip(*columns, strict=True)
    return kept_headers, kept_rows


def _components(status: TopologyStatus) -> dict[str, list[InstanceStatus]]:
    """Component → its instances; spouts first."""
    groups: dict[str, list[InstanceStatus]] = {}
    for instance in sorted(status.instances, key=lambda one: one.kind != "spout"):
        groups.setdefault(instance.component, []).append(instance)
    return groups


def _shared(status: TopologyStatus) -> set[str]:
    """The processes that hold tasks which come and go in them."""
    return {one.process for one in status.instances if one.process not in ("", one.label)}


def shared_processes(status: TopologyStatus) -> list[str]:
    """A line for each process with several tasks, and who shares it."""
    return [
        f"{name}: {', '.join(one.label for one in status.instances if one.process == name)}"
        for name in sorted(_shared(status))
    ]


def instance_rows(status: TopologyStatus) -> list[tuple[str, ...]]:
    return [
        (
            one.label,
            str(one.container),
            str(one.pid or "-"),
            _of_input(one.kind, one.executed),
            _of_input(one.kind, one.execute_rate),
            count(one.emitted),
            count(one.emit_rate),
            _latency(one.latency_ms),
            count(one.queue),
            count(one.errors),
            str(one.restarts),
            f"{one.cpu_seconds:.1f}s",
            f"{one.memory_bytes / 1024**2:.0f}MB",
            one.state,
        )
        for one in status.instances
    ]


def container_rows(status: TopologyStatus) -> list[tuple[str, ...]]:
    return [
        (
            str(one.id),
            one.state,
            one.endpoint or "-",
            count(one.frames),
            f"{one.bytes / 1024**2:.1f}",
            count(one.backlog),
            count(one.dropped),
            count(one.rejected),
        )
        for one in status.containers
    ]


def waiting_for(status: TopologyStatus) -> str:
    """The instances that do not run yet, in one line; empty when all do."""
    if status.state == "UNREACHABLE":
        return "the topology master in container 0"
    late = [one for one in status.instances if one.state not in ("running", "paused", "ready")]
    if not late:
        return status.reason if status.state not in ("RUNNING", "PAUSED") else ""
    first = late[0]
    others = f" and {len(late) - 1} more" if len(late) > 1 else ""
    return f"{first.label} in container {first.container} ({first.state}){others}"


def _component_row(name: str, members: list[InstanceStatus]) -> tuple[str, ...]:
    kind = members[0].kind
    worst = min((one.state for one in members), key=_badness)
    affected = sum(one.state == worst for one in members)
    return (
        name,
        kind,
        str(len(members)),
        _of_input(kind, sum(one.executed for one in members)),
        _of_input(kind, sum(one.execute_rate for one in members)),
        count(sum(one.emitted for one in members)),
        count(sum(one.emit_rate for one in members)),
        _latency(_mean_latency(members)),
        count(sum(one.queue for one in members)),
        count(sum(one.errors for one in members)),
        count(sum(one.restarts for one in members)),
        worst if affected == len(members) else f"{affected} {worst}",
    )


def _badness(state: str) -> int:
    return WORST_FIRST.index(state) if state in WORST_FIRST else -1


def _mean_latency(members: Iterable[InstanceStatus]) -> float:
    """Weighted by how much each did, so that an idle instance does not hide a slow one."""
    weighted = [(one.latency_ms, one.execute_rate or one.emit_rate) for one in members]
    total = sum(weight for _, weight in weighted)
    if not total:
        return max((latency for latency, _ in weighted), default=0.0)
    return sum(latency * weight for latency, weight in weighted) / total


def _of_input(kind: str, number: float) -> str:
    return "-" if kind == "spout" else count(number)


def _latency(milliseconds: float) -> str:
    return f"{milliseconds:.2f}ms" if milliseconds < 10 else f"{milliseconds:.0f}ms"


def _container_notes(container: ContainerStatus, now: float, *, told: str) -> list[str]:
    lines = []
    if container.state == "missing" and f"container {container.id} has been missing" not in told:
        how_long = f" for {elapsed(now - container.since)}" if container.since else ""
        lines.append(f"container {container.id} is missing{how_long}")
    if container.dropped:
        lines.append(f"container {container.id} dropped {container.dropped} frames")
    if container.rejected:
        what = "frames, messages or connections"
        lines.append(f"container {container.id} rejected {container.rejected} {what}")
    return lines


def standing_still(status: TopologyStatus, held_up: Collection[str]) -> list[str]:
    """Why no data flows: a line for each component that has been idle for a while.

    Bolts are idle when the spouts are, so only where all spouts work are bolts worth a line.
    """
    idle = {
        name: members
        for name, members in _components(status).items()
        if min(one.idle for one in members) >= NOTABLE_IDLE
        and not all(one.label in held_up for one in members)
    }
    spouts = {name: members for name, members in idle.items() if members[0].kind == "spout"}
    return [_idle_note(name, members, status.checkpoints) for name, members in (spouts or idle).items()]


def _idle_note(name: str, members: list[InstanceStatus], checkpoints: CheckpointStatus | None) -> str:
    seconds = elapsed(min(one.idle for one in members))
    if members[0].kind != "spout":
        return f"nothing came to {name} for {seconds}"
    pending, limit = sum(one.pending for one in members), sum(one.pending_limit for one in members)
    if limit and all(one.pending >= one.pending_limit for one in members):
        return f"{name} waits for acks: {pending:,} of {limit:,} tuples are pending"
    if pending and checkpoints is not None and checkpoints.interval and not limit:
        number = checkpoints.running or checkpoints.id + 1
        return f"{name} emitted nothing for {seconds}; {pending:,} tuples wait for checkpoint {number}"
    return f"{name} emitted nothing for {seconds}"


def _backpressure_note(one: Backpressure) -> str:
    held_up = one.spouts or one.bolts
    named = ", ".join(held_up[:NAMED]) + (f" and {len(held_up) - NAMED} more" if len(held_up) > NAMED else "")
    where = f"{one.culprit} (container {one.container})"
    return f"back-pressure  {where} for {elapsed(one.seconds)}, holds up {named}"


def _loss_notes(status: TopologyStatus) -> list[str]:
    lines = []
    # Effectively once, nothing stays lost: all tasks went back to a checkpoint before it.
    if status.lost_max and status.reliability != "effectively_once":
        least, most = f"{status.lost_min:,}", f"{status.lost_max:,}"
        comes_again = "" if status.reliability == "at_most_once" else ", which come again if they have an id"
        lines.append(f"lost  between {least} and {most} tuples{comes_again}")
    if dropped := sum(instance.dropped for instance in status.instances):
        lines.append(f"dropped  {dropped:,} tuples for want of credit")
    return lines


def _failed_records(status: TopologyStatus) -> list[str]:
    """Of a pipeline: the steps that skipped records or set them aside."""
    failed = _by_step(status, FAILED)
    return [f"step {step!r} failed for {plural(count, 'record')}" for step, count in sorted(failed.items())]


def _late_records(status: TopologyStatus) -> list[str]:
    """Of a pipeline: the steps whose windows had expired when records came."""
    late = _by_step(status, LATE_DROPPED)
    return [f"step {step!r} dropped {plural(n, 'late record')}" for step, n in sorted(late.items()) if n]


def _by_step(status: TopologyStatus, metric: str) -> Counter[str]:
    """A metric of a pipeline's stages, over all their tasks."""
    found: Counter[str] = Counter()
    for instance in status.instances:
        for own, value in instance.custom.items():
            name, _, step = own.partition("/")
            if name == metric:
                found[step] += int(value)
    return found


def _instance_notes(instance: InstanceStatus, *, told: str, explained: bool) -> list[str]:
    lines = []
    if instance.error and not (instance.label in told and instance.error in told):
        lines.append(f"{instance.label}: {instance.error}")
    if instance.busy:
        lines.append(f"{instance.label} in {instance.busy}")
    if instance.waiting >= NOTABLE_WAITING and not explained:
        lines.append(f"{instance.label} waits for slower readers {instance.waiting:.0%} of the time")
    if instance.poisoned:
        kept = f"{instance.label} kept {instance.poisoned} tuples aside that kill it (heronpy logs --poison)"
        lines.append(f"{kept}, the last {instance.poison}")
    if instance.rejected:
        lines.append(f"{instance.label} rejected {instance.rejected} frames")
    return lines
