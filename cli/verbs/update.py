"""heronpy update NAME count=4: changes the parallelism of a running topology, or its config."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import click

from heronpy.cli.changing.proposal import InForce, Proposal, look, propose
from heronpy.cli.changing.runtime_keys import parse_runtime_config
from heronpy.cli.changing.update_checks import (
    doubts,
    parse_targets,
    refuse_impossible,
    refuse_second,
    shown,
    unfinished,
)
from heronpy.cli.changing.update_following import follow, write_proposal
from heronpy.cli.changing.update_rates import measuring, rates_after, rates_of
from heronpy.cli.options import duration, takes_name, takes_output, takes_settings
from heronpy.cli.reading.topologies import open_state, require, require_alive, settled_status
from heronpy.cli.requester import requester
from heronpy.cli.views.output import echo_json
from heronpy.cli.views.update_diff import (
    diff_json,
    diff_lines,
    ledger_line,
    outcome_json,
    packing_line,
    rate_line,
)
from heronpy.cli.views.update_phases import Phases
from heronpy.cli.views.wait_line import ProgressLine
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UsageError, UserError
from heronpy.kernel.plans import LogicalPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.tree.live_node import change_live, with_runtime_config
from heronpy.kernel.tree.paths import FINISHED
from heronpy.kernel.tree.update import Ledger, Update


class Choices(NamedTuple):
    """The options of the command."""

    rebalance: bool
    dry_run: bool
    yes: bool
    wait: bool
    #: seconds for each phase
    timeout: float
    #: seconds from one report of numbers to the next
    interval: float
    json: bool


@click.command("update")
@takes_name
@click.argument("targets", nargs=-1, metavar="[COMPONENT=N]...")
@click.option(
    "--runtime-config",
    multiple=True,
    metavar="[COMPONENT:]KEY=VALUE",
    help="Change config instead of parallelism; may be repeated.",
)
@click.option("--rebalance", is_flag=True, help="Let the packing plugin move key groups.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do it even if it looks like a mistake.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the topology master has been asked.")
@click.option(
    "--timeout", metavar="DURATION", callback=duration, help="For each phase; then it is rolled back."
)
@takes_output
@takes_settings
def command(
    config: Config,
    name: str,
    targets: tuple[str, ...],
    runtime_config: tuple[str, ...],
    rebalance: bool,
    dry_run: bool,
    yes: bool,
    no_wait: bool,
    timeout: float | None,
    output: str,
) -> None:
    """Give components of the running topology NAME another number of instances.

    Nothing is lost and no other instance is restarted. Before the change takes effect, any failure undoes it.
    """
    seconds = config.number("update.timeout") if timeout is None else timeout
    interval = config.number("metrics.interval")
    choices = Choices(rebalance, dry_run, yes, not no_wait, seconds, interval, output == "json")
    if runtime_config and (targets or rebalance):
        msg = "parallelism and --runtime-config are changed one after the other"
        raise UsageError(msg, hint="run two commands, one for each")
    if not targets and not rebalance and not runtime_config:
        msg = "nothing to change"
        raise UsageError(msg, hint=f"heronpy update {name} COMPONENT=4")
    with open_state(config) as state:
        if runtime_config:
            _configure(state, require(state, name), runtime_config, dry_run=dry_run)
        elif not _scale(config, state, require(state, name), targets, choices):
            click.get_current_context().exit(1)


def _configure(state: StateManager, name: str, assignments: Sequence[str], *, dry_run: bool) -> None:
    given = parse_runtime_config(assignments, look(state, name).plan.logical)
    if not dry_run:
        change_live(state, name, lambda live: with_runtime_config(live, given))
    for component, values in given.items():
        for key, value in values.items():
            click.echo(f"{component or name}: {key} = {value!r}")
    if dry_run:
        click.echo("nothing was changed")


def _scale(config: Config, state: StateManager, name: str, targets: Sequence[str], choices: Choices) -> bool:
    """False when it was rolled back."""
    status = settled_status(state, name if choices.dry_run else require_alive(config, state, name))
    now = look(state, name)
    logical = now.plan.logical
    wanted = parse_targets(name, targets, logical)
    running = unfinished(now.last)
    if running is not None and not choices.dry_run:
        if running.kind != "scale" or running.wanted != wanted:
            raise refuse_second(name, running)
        click.echo(f"this update is running already (phase {running.phase}): following it", err=True)
        with _told_that_it_goes_on(name, wanted):
            return _follow(state, name, running, "as proposed", {}, choices, undo="")
    changing = _without_the_same(name, logical, wanted)
    if not changing and not choices.rebalance:
        return True
    refuse_impossible(logical, changing)
    proposal = propose(config, installed(), now, changing)
    if not proposal.affected:
        click.echo(f"{name}: packing {now.algorithm!r} sees nothing to move", err=True)
        return True
    uncertain = doubts(config, proposal, changing, status)
    if choices.dry_run:
        _show_diff(config, proposal, uncertain, status, choices)
        return True
    if uncertain and not choices.yes:
        raise UserError("; ".join(uncertain), hint="--dry-run to see what would change, or --yes to do it")
    return _run(config, state, now, status, proposal, wanted, uncertain, choices)


def _without_the_same(name: str, logical: LogicalPlan, wanted: Mapping[str, int]) -> dict[str, int]:
    for component, count in wanted.items():
        if logical.component(component).parallelism == count:
            click.echo(f"{name}: {component} has {count} already", err=True)
    return {each: count for each, count in wanted.items() if logical.component(each).parallelism != count}


def _show_diff(
    config: Config, proposal: Proposal, uncertain: Sequence[str], status: TopologyStatus, choices: Choices
) -> None:
    if choices.json:
        echo_json({**diff_json(proposal), "needs_yes": list(uncertain)})
        return
    for line in diff_lines(proposal, config.integer("update.max_factor")):
        click.echo(line)
    for doubt in uncertain:
        click.echo(f"needs --yes: {doubt}")
    if status.state == "UNREACHABLE":
        click.echo("the state of the tasks is not known: the topology master does not answer")
    click.echo("nothing was changed")


def _run(
    config: Config,
    state: StateManager,
    now: InForce,
    status: TopologyStatus,
    proposal: Proposal,
    wanted: Mapping[str, int],
    uncertain: Sequence[str],
    choices: Choices,
) -> bool:
    name = now.topology
    if status.state == FINISHED:
        msg = f"topology {name!r} is FINISHED: its input has ended, so there is nothing left to scale"
        raise UserError(msg, hint=f"heronpy kill {name}")
    if status.state in ("STARTING", "FAILED"):
        msg = f"topology {name!r} is {status.state}: {status.reason or 'not all tasks run'}"
        raise UserError(msg, hint=f"heronpy status {name}")
    update = Update(
        number=now.last.number + 1 if now.last is not None else 1,
        epoch=now.next_epoch,
        phase="proposed",
        wanted=dict(wanted),
        packing=proposal.after,
        accepts_loss=choices.yes,
        timeout=choices.timeout,
        requested_by=requester(),
        requested_at=time.time(),
    )
    if not choices.json:
        for line in diff_lines(proposal, config.integer("update.max_factor")):
            click.echo(line)
        for doubt in uncertain:
            click.echo(f"with --yes: {doubt}")
    undo = shown({each: len(now.plan.tasks_of(each)) for each in wanted})
    with _told_that_it_goes_on(name, wanted):
        write_proposal(state, now, update)
        if choices.wait:
            before = rates_of(status, proposal.affected, within=measuring(choices.interval))
            return _follow(state, name, update, packing_line(proposal), before, choices, undo)
    click.echo(
        f"{name}: asked for plan {update.epoch}; the same command without --no-wait follows it", err=True
    )
    return True


@contextlib.contextmanager
def _told_that_it_goes_on(name: str, wanted: Mapping[str, int]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        again = f"heronpy update {name} {shown(wanted) or '--rebalance'}"
        click.echo(
            f"\nthe update goes on; `{again}` follows it again, heronpy status {name} shows it", err=True
        )
        raise


def _follow(
    state: StateManager,
    name: str,
    update: Update,
    first_line: str,
    before: Mapping[str, float],
    choices: Choices,
    undo: str,
) -> bool:
    progress = ProgressLine()

    def echo(line: str) -> None:
        progress.clear()
        click.echo(line, err=choices.json)

    phases = Phases(first_line, progress.say, echo)
    try:
        ended = follow(state, name, update.epoch, timeout=choices.timeout, phases=phases)
    finally:
        progress.clear()
    done = ended.phase == "done"
    after: Mapping[str, float] = {}
    if done and before:
        progress.say("measuring how fast it is now")
        after = rates_after(state, name, list(before), interval=choices.interval)
        progress.clear()
    if choices.json:
        echo_json(outcome_json(ended, before, after))
    if not done:
        counts = look(state, name).plan.logical.parallelism()
        still = ", ".join(f"{each} has {counts[each]}" for each in ended.wanted)
        unchanged = f"nothing has changed: {still}" if still else "nothing has changed"
        click.echo(f"↩ rolled back, {unchanged}; reason: {ended.reason}", err=True)
    elif not choices.json:
        _close(name, ended, rate_line(before, after), undo)
    return done


def _close(name: str, ended: Update, rates: str, undo: str) -> None:
    click.echo(ledger_line(ended.ledger or Ledger()))
    for sentence in ended.ledger.given_up if ended.ledger is not None else ():
        click.echo(f"done all the same: {sentence}")
    hint = f"undo: heronpy update {name} {undo}" if undo else ""
    if rates or hint:
        click.echo("   ".join(part for part in (rates, hint) if part))
