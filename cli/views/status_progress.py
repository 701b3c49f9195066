"""What a topology saves, restores and changes, as lines below the headline of its status."""

from __future__ import annotations

from collections.abc import Sequence

from heronpy.cli.views.output import elapsed, plural
from heronpy.kernel.status import CheckpointStatus, TopologyStatus, UpdateStatus

#: most names in one line
NAMED = 3
#: a checkpoint that takes this many seconds is worth a line of its own
NOTABLE = 1.0


def progress(status: TopologyStatus, now: float) -> list[str]:
    """Checkpoints, restores and the change of plan that runs; empty where there is none of these."""
    lines = _update_lines(status.update, now) if status.update is not None else []
    if status.checkpoints is not None:
        lines += _checkpoint_lines(status.checkpoints, now) + _restore_lines(status.checkpoints, now)
    return lines


def size(number: int) -> str:
    """41943040 → "41.9 MB"."""
    for scale, suffix in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if number >= scale:
            return f"{number / scale:.3g} {suffix}"
    return f"{number} bytes"


def _checkpoint_lines(saved: CheckpointStatus, now: float) -> list[str]:
    lines = []
    every = f", every {_seconds(saved.interval)}" if saved.interval else ""
    if saved.interval and saved.unchanged:
        every = ", nothing has changed since"
    if saved.id:
        lines.append(f"checkpoint {saved.id}, {elapsed(now - saved.at)} ago, {size(saved.bytes)}{every}")
    elif saved.interval:
        lines.append(f"no checkpoint yet{every}")
    if saved.running and saved.running_for >= NOTABLE:
        late = f", waits for {listed(saved.waits_for)}" if saved.waits_for else ""
        lines.append(f"checkpoint {saved.running} has been running for {elapsed(saved.running_for)}{late}")
    if saved.aborted > saved.id:
        lines.append(f"checkpoint {saved.aborted} was given up: {saved.aborted_because}")
    return lines


def _restore_lines(saved: CheckpointStatus, now: float) -> list[str]:
    lines = []
    if saved.restores:
        ago = elapsed(now - saved.restored_at)
        times = plural(saved.restores, "time")
        lines.append(f"run {saved.run}, restored {times}, last {ago} ago: {saved.restored_because}")
    if saved.fell_back:
        ago = f", {elapsed(now - saved.fell_back_at)} ago" if saved.fell_back_at else ""
        lines.append(f"{saved.fell_back}{ago}")
    return lines


def _update_lines(update: UpdateStatus, now: float) -> list[str]:
    if update.kind == "restart":
        what = f"restart of {', '.join(f'container {each}' for each in update.containers)}"
    else:
        what = "update " + " ".join(f"{name}={number}" for name, number in update.wanted.items())
    line = f"{what.rstrip()}  {update.phase}"
    if update.requested_at:
        line += f" after {elapsed(now - update.requested_at)}"
    if update.waits_for:
        line += f", waits for {listed(update.waits_for)}"
    return [line + (f": {update.reason}" if update.reason else "")]


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s"


def listed(names: Sequence[str]) -> str:
    """The first few of them."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
