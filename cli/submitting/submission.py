"""Submitting a topology: load, pack, write the state tree, start, wait. Nothing here needs a terminal."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import click
import msgspec

from heronpy.cli.requester import requester
from heronpy.cli.submitting.from_checkpoint import StartingCheckpoint
from heronpy.cli.submitting.limits import check_limits
from heronpy.cli.submitting.shipping import refuse_unreachable, shipped
from heronpy.cli.verbs.version import engine_version
from heronpy.cli.views.status_view import waiting_for
from heronpy.container.folders import create_launch, launch_file, own_work_folder, work_folder
from heronpy.container.launch_facts import keeper_of
from heronpy.container.scheduler import scheduler_host
from heronpy.container.teardown import kill_topology
from heronpy.kernel.checkpoints.interval import checkpoint_interval
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import components_prefix
from heronpy.kernel.config import Config
from heronpy.kernel.config.units import format_duration
from heronpy.kernel.errors import DamagedNode, HeronError, NodeExists, TimedOut, UserError, did_you_mean
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.names import checked_name
from heronpy.kernel.plans import LogicalPlan, PackingPlan, fused, physical_plan
from heronpy.kernel.plugin import Registry, Scheduler, StateManager
from heronpy.kernel.plugin.opening import installed, open_checkpoint_store
from heronpy.kernel.status import InstanceStatus, TopologyStatus
from heronpy.kernel.trace_points import step
from heronpy.kernel.tree.paths import FINISHED, PAUSED, RUNNING, Execution, ExecutorNode, Live, Tree, Waiting
from heronpy.kernel.tree.registrations import given_up, reported
from heronpy.loading import load_topologies
from heronpy.logical_plan import component_of, drops_when_full, poison_settings, tick_seconds, tree_limits

#: seconds between two questions to the Topology Master while waiting
ASK_EVERY = 0.05
#: seconds that each question may take
ANSWER_TIMEOUT = 1.0


#: seconds that a failed instance's own explanation may take to arrive
LAST_WORDS = 2.0
#: how heronpy.operators.failing describes a function that raised, and heronpy.stages a file that has changed
STEP_FAILED = re.compile(r"step '.*' failed at |the file ma(de no|kes another) pipeline ")
#: restarts of one process after which a start is given up
HOPELESS = 3


class Prepared(NamedTuple):
    """A topology that could be submitted."""

    logical: LogicalPlan
    packing: PackingPlan
    #: the checkpoint that it begins with, if any
    base: StartingCheckpoint | None = None
    #: whether its components find objects of their own, kept when a topology of this name was killed
    inherits: bool = False


class StartFailed(UserError):
    """A process failed before the topology ran."""

    def __init__(self, topology: str, who: str, cause: str, traceback: str = "") -> None:
        super().__init__(f"topology {topology!r} did not start: {who} failed: {cause}")
        #: the process whose log has more
        self.who = who
        #: a step of a pipeline whose function raised says all that there is to say
        self.step_failure = step_failure(cause, traceback)


def step_failure(cause: str, traceback: str) -> UserError | None:
    """The error of a pipeline's step, as a task has reported it; None if something else has failed."""
    if not STEP_FAILED.match(cause):
        return None
    error = UserError(cause)
    error.traceback = traceback
    return error


def prepare(
    config: Config,
    registry: Registry,
    file: str,
    args: Sequence[str],
    name: str | None = None,
    plans: list[LogicalPlan] | None = None,
) -> list[Prepared]:
    """Load a file and pack what it defines: empty, if the script ended by itself, as with --help.

    `name` renames the topology, if there is only one. `plans`: the file has been loaded, and defines these.
    """
    _refuse_unknown_plugins(config, registry)
    topologies = plans
    if topologies is None:
        note_files(file, args)
        topologies = load_topologies(file, args, {**config.topology, **config.component})
    _refuse_unknown_components(config, topologies)
    if name is not None and topologies:
        topologies = [_renamed(topologies, file, name)]
    return [_packed(config, registry, topology) for topology in topologies]


def note_files(file: str, args: Sequence[str]) -> None:
    """Say so where an argument looks like a second file to load."""
    if files := [arg for arg in args if arg.endswith(".py") and os.path.isfile(arg)]:
        told = f"note: {', '.join(files)} is an argument of {file}, which alone is loaded"
        click.echo(told, err=True)


def submit(config: Config, state: StateManager, prepared: Prepared) -> TopologyLaunch:
    """Write the topology's tree and files and start its scheduler. Clears up after itself when that fails."""
    name = prepared.logical.name
    registry = installed()
    scheduler = registry.scheduler(config.text("scheduler.name"))
    refuse_unreachable(config, registry, prepared.logical)
    scheduler.preflight(config, prepared.packing)
    _check_sinks(config, registry, prepared.packing, here=not scheduler.remote(config))
    _check_store(config, registry, prepared.logical)
    execution = _execution(config, scheduler)
    own_work_folder(config, name)
    if launch_file(config, name).exists() and not state.exists(Tree(name).root):
        msg = f"processes of an earlier topology {name!r} may be left: it is no longer in the state tree"
        raise UserError(msg, hint=f"heronpy kill {name}")
    try:
        # this claims the name
        state.create(Tree(name).execution, NODE.encode(execution))
        step("submit.claimed")
    except (NodeExists, DamagedNode):
        msg = f"topology {name!r} exists already"
        raise UserError(msg, hint=f"heronpy kill {name}, or submit with --name OTHER") from None
    try:
        return _start(config, state, prepared, execution, scheduler)
    except BaseException as error:
        killed = isinstance(error, Exception) and _was_killed(state, name)
        _clear_after(error, config, state, prepared)
        if killed:
            raise _killed_meanwhile(name) from error
        if isinstance(error, OSError):
            msg = f"cannot write the files of topology {name!r}: {error}"
            raise UserError(msg, hint="set HERONPY_HOME to another folder") from error
        raise


def wait_until_running(
    state: StateManager,
    name: str,
    *,
    timeout: float,
    last_words: Callable[[str], str],
    progress: Callable[[str], None],
) -> TopologyStatus:
    """Wait for RUNNING; `progress` gets what is waited for. StartFailed and TimedOut name the process.

    `last_words` gives the last line that a process logged.
    """
    deadline = time.monotonic() + timeout
    told = ""
    with MasterClient(state, name) as master:
        while True:
            status = master.status(ANSWER_TIMEOUT)
            if status.state in (RUNNING, PAUSED, FINISHED):
                return status
            if _failed(status):
                _refuse_failures(_with_last_words(master))
            _refuse_broken_engine(state, name, last_words)
            _refuse_given_up(state, name)
            if _was_killed(state, name):
                raise _killed_meanwhile(name)
            missing = waiting_for(status) + _without_room(state, name)
            if missing != told:
                progress(f"waiting for {missing}")
                told = missing
            if time.monotonic() >= deadline:
                msg = (
                    f"topology {name!r} did not run within {format_duration(timeout)}: waiting for {missing}"
                )
                raise TimedOut(msg, hint=f"heronpy logs {name}, heronpy status {name} or heronpy kill {name}")
            time.sleep(ASK_EVERY)


def _with_last_words(master: MasterClient) -> TopologyStatus:
    """The end of a process may be known before its last log line."""
    deadline = time.monotonic() + LAST_WORDS
    while True:
        status = master.status(ANSWER_TIMEOUT)
        if any(instance.traceback for instance in _failed(status)) or time.monotonic() >= deadline:
            return status
        time.sleep(ASK_EVERY)


def _without_room(state: StateManager, name: str) -> str:
    """The scheduler's reason for a container that it cannot start yet."""
    waiting = (reported(state, Tree(name).waiting, Waiting) or Waiting()).containers
    return "".join(f"; container {container} waits: {why}" for container, why in list(waiting.items())[:1])


def _was_killed(state: StateManager, name: str) -> bool:
    try:
        return not state.exists(Tree(name).execution)
    except UserError:
        # a state tree that cannot be read is reported elsewhere
        return False


def _killed_meanwhile(name: str) -> UserError:
    return UserError(f"topology {name!r} was killed while it started", hint="heronpy list")


def _failed(status: TopologyStatus) -> list[InstanceStatus]:
    return [
        instance
        for instance in status.instances
        if instance.state == "failed" or (instance.error and instance.state != "running")
    ]


def _refuse_failures(status: TopologyStatus) -> None:
    # the one that has a reason, if any does
    for instance in sorted(_failed(status), key=lambda failed: not failed.traceback):
        cause = instance.error or f"it is {instance.state}"
        raise StartFailed(status.name, instance.label, cause, instance.traceback)


def _refuse_broken_engine(state: StateManager, name: str, last_words: Callable[[str], str]) -> None:
    """Waiting longer does not help an engine process that ends repeatedly."""
    tree = Tree(name)
    for container in state.children(tree.containers):
        node = reported(state, tree.executor(int(container)), ExecutorNode)
        for who, child in node.children.items() if node else ():
            # An instance reports its error to the master, and a log may be on a machine that has just
            # started to answer: both get a little longer before there is only a status to show.
            late, hopeless = child.restarts >= 2 * HOPELESS, child.restarts >= HOPELESS
            if child.last_exit and (late or (hopeless and not child.tasks)):
                words = last_words(who).removeprefix("error: ")
                if words or late:
                    raise StartFailed(name, who, words or child.last_exit)


def _refuse_given_up(state: StateManager, name: str) -> None:
    """A container that cannot run where it was started."""
    tree = Tree(name)
    for container in state.children(tree.containers):
        how = given_up(state, tree, int(container))
        if how is not None:
            raise StartFailed(name, f"container {container}", how)


def _refuse_unknown_plugins(config: Config, registry: Registry) -> None:
    """A misspelt name is an error here, not a line in the log of a background process."""
    registry.scheduler(config.text("scheduler.name"))
    registry.checkpoint_store(config.text("checkpoint.store"))
    registry.state_manager(config.text("state.manager"))
    registry.uploader(config.text("upload.uploader"))
    for sink in config.words("metrics.sinks"):
        registry.metric_sink(sink)


def _check_store(config: Config, registry: Registry, topology: LogicalPlan) -> None:
    """A topology whose checkpoints can never be stored would run without an error until one is needed."""
    if not checkpoint_interval(topology, config):
        return
    probe = f"{topology.name}/probe-{secrets.token_hex(8)}"
    store = open_checkpoint_store(config, registry)
    try:
        store.write(probe, [b""])
        store.delete(probe)
    finally:
        store.close()


def _check_sinks(config: Config, registry: Registry, packing: PackingPlan, *, here: bool) -> None:
    """In a running topology a sink that fails is logged and left out, which is not enough at a submit."""
    containers = [container.id for container in packing.containers]
    for name in config.words("metrics.sinks"):
        registry.metric_sink(name).preflight(config, containers, here=here)


def _refuse_unknown_components(config: Config, topologies: Sequence[LogicalPlan]) -> None:
    """A settings file may be for several topologies, a flag is for this one."""
    names = {component.name for topology in topologies for component in topology.components}
    for setting in config.component if names else ():
        if config.origin(setting).startswith("flag") and component_of(setting, names) is None:
            name = setting.split(".")[1]
            msg = f"{setting} (from {config.origin(setting)}): there is no component {name!r}"
            raise UserError(msg + did_you_mean(name, names))


def _renamed(topologies: Sequence[LogicalPlan], file: str, name: str) -> LogicalPlan:
    if len(topologies) != 1:
        msg = f"{file} defines {len(topologies)} topologies, which cannot all be named {name!r}"
        raise UserError(msg, hint="leave out --name")
    return msgspec.structs.replace(topologies[0], name=checked_name("topology", name))


def _packed(config: Config, registry: Registry, topology: LogicalPlan) -> Prepared:
    for component in topology.components:
        given = {**topology.config, **component.config}
        tree_limits(given)
        tick_seconds(given)
        poison_settings(topology, given)
    drops_when_full(topology, default=config["credit.when_full"] == "drop")
    inherits = _opened_store(config, registry, topology)
    manager = registry.resource_manager(config.text("packing.algorithm"))()
    try:
        manager.initialize(config, topology)
        packing = fused(topology, manager.pack())
        check_limits(config, topology, packing, physical_plan(topology, packing))
        return Prepared(topology, packing, inherits=inherits)
    finally:
        manager.close()


def _opened_store(config: Config, registry: Registry, topology: LogicalPlan) -> bool:
    """Check that the checkpoint store can be opened if needed; returns whether components find objects."""
    keeps = any(component.keeps_objects for component in topology.components)
    if not keeps and not checkpoint_interval(topology, config):
        return False
    store = open_checkpoint_store(config, registry)
    try:
        return keeps and bool(store.names(f"{components_prefix(topology.name)}/"))
    finally:
        store.close()


def _execution(config: Config, scheduler: type[Scheduler]) -> Execution:
    return Execution(
        id="",
        submitted_by=requester(),
        submitted_at=time.time(),
        version=engine_version(),
        packing=config.text("packing.algorithm"),
        scheduler=config.text("scheduler.name"),
        state=config.text("state.manager"),
        apart=scheduler.remote(config) and not config.text("checkpoint.path"),
    )


def _start(
    config: Config,
    state: StateManager,
    prepared: Prepared,
    execution: Execution,
    scheduler: type[Scheduler],
) -> TopologyLaunch:
    name = prepared.logical.name
    tree = Tree(name)
    _clear_old_logs(config, name)
    remote = scheduler.remote(config)
    path = create_launch(config, name, remote=remote, keeper=keeper_of(scheduler, remote=remote))
    launch = TopologyLaunch.read(path)
    step("submit.launch.written")
    known = msgspec.structs.replace(execution, id=launch.execution)
    state.set(tree.execution, NODE.encode(known))
    logical = shipped(launch, state, prepared.logical) if launch.remote else prepared.logical
    state.set(tree.definition, logical.to_json())
    step("submit.definition.written")
    state.set(tree.packing_plan, prepared.packing.to_json())
    step("submit.packing.written")
    state.set(tree.checkpoints, _first_node(config, prepared, launch.execution).to_json())
    step("submit.checkpoints.written")
    # the last node: from here on the topology can be started again
    state.set(tree.live, NODE.encode(Live(RUNNING)))
    step("submit.written")
    scheduler_host.start(path)
    step("submit.started")
    return launch


def _first_node(config: Config, prepared: Prepared, execution: str) -> Checkpoints:
    base = prepared.base
    return Checkpoints.submitted_with(
        base.copy(config, prepared.logical.name, execution) if base is not None else None
    )


def _clear_old_logs(config: Config, name: str) -> None:
    """Remove the logs that an earlier topology of this name kept."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(work_folder(config, name))


def _clear_after(error: BaseException, config: Config, state: StateManager, prepared: Prepared) -> None:
    name = prepared.logical.name
    try:
        kill_topology(
            config,
            state,
            name,
            config.number("kill.timeout"),
            keep_logs=isinstance(error, scheduler_host.SchedulerStartFailed),
            keep_objects=prepared.inherits,
        )
    except (HeronError, OSError) as second:
        msg = f"{error}; clearing up failed too: {second}"
        raise UserError(msg, hint=f"heronpy kill {name}") from error
