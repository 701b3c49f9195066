"""A restart of containers as an update: each task hands its state over to its own successor."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
import msgspec

from heronpy.cli.changing.proposal import InForce, look
from heronpy.cli.changing.update_checks import refuse_second, unfinished
from heronpy.cli.changing.update_following import follow, write_proposal
from heronpy.cli.requester import requester
from heronpy.cli.views.update_diff import ledger_line
from heronpy.cli.views.update_phases import Phases
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.tree.update import Ledger, Update


def restart_as_planned(config: Config, state: StateManager, name: str, containers: Sequence[int]) -> None:
    """Propose the restart, follow it and show it; a UserError when it was rolled back."""
    now = look(state, name)
    running = unfinished(now.last)
    if running is not None:
        raise refuse_second(name, running)
    update = proposed_restart(now, containers, timeout=config.number("update.timeout"))
    write_proposal(state, now, update)
    progress = ProgressLine()

    def echo(line: str) -> None:
        progress.clear()
        click.echo(line)

    where = f"container {', '.join(map(str, containers))}"
    phases = Phases(f"no instance moves; {where} will restart", progress.say, echo)
    try:
        ended = follow(state, name, update.epoch, timeout=update.timeout, phases=phases)
    except KeyboardInterrupt:
        click.echo(f"\nthe restart goes on; heronpy status {name} shows it", err=True)
        raise
    finally:
        progress.clear()
    if ended.phase != "done":
        msg = f"{name}: nothing was restarted; reason: {ended.reason}"
        raise UserError(msg, hint=f"heronpy restart {name} --now, which recovers as after a crash")
    click.echo(ledger_line(ended.ledger or Ledger()))
    click.echo(f"{name}: restarted {where}")


def proposed_restart(now: InForce, containers: Sequence[int], *, timeout: float) -> Update:
    """The same packing under another epoch."""
    return Update(
        number=now.last.number + 1 if now.last is not None else 1,
        epoch=now.next_epoch,
        phase="proposed",
        kind="restart",
        containers=tuple(containers),
        packing=msgspec.structs.replace(now.packing, epoch=now.next_epoch),
        timeout=timeout,
        requested_by=requester(),
        requested_at=time.time(),
    )
