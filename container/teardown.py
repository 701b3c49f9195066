"""Ends a topology and leaves nothing of it, whatever state it is in."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from pathlib import Path

from heronpy.container.execution import known_execution
from heronpy.container.folders import launch_file, work_folder
from heronpy.container.kept_checkpoints import clear_checkpoints, require_store
from heronpy.container.launch_facts import launch_of
from heronpy.container.remote.shipped import read_shipped
from heronpy.container.remote.uploads import clear_uploads, uploads_of
from heronpy.container.scheduler.launcher import TopologyLauncher
from heronpy.container.scheduler.scheduler_handle import SchedulerProcess, await_late_starts
from heronpy.kernel.config import Config
from heronpy.kernel.errors import HeronError, OtherFormat, StateError, UserError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import Shipped, StateManager
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import reported
from heronpy.kernel.tree.requests import Request, send_request

log = logging.getLogger(__name__)

#: what the scheduler's process needs on top of the time that the others get
HOST_SECONDS = 5.0

#: how long the node of a killed process may take to vanish
NODE_SECONDS = 5.0


def kill_topology(
    config: Config,
    state: StateManager,
    name: str,
    timeout: float,
    *,
    keep_logs: bool = False,
    keep_checkpoints: bool = False,
    keep_objects: bool = False,
) -> bool:
    """End every process of the topology, remove its files and its nodes. False when there was nothing.

    Asks the scheduler's process, which gives the others `timeout` seconds to end by themselves, and does
    its work if it is gone, does not answer or fails. Safe to repeat; clears what a failed submit left, too.
    """
    file, tree = launch_file(config, name), Tree(name)
    if not state.exists(tree.root) and not file.exists():
        return False
    uploads = uploads_of(state, name)
    launch = launch_of(config, state, name)
    chosen = Config.from_plain(launch.config) if launch is not None else config
    if launch is not None:
        require_store(state, launch, keep=keep_checkpoints)
    if state.exists(tree.root):
        announce_leaving(state, tree)
    with SchedulerProcess(state, tree.scheduler) as host, SchedulerProcess(state, tree.keeper) as keeper:
        if host.present:
            request = Request(
                kind="kill",
                keep_logs=keep_logs,
                keep_checkpoints=keep_checkpoints,
                keep_objects=keep_objects,
            )
            asked = not host.stopped
            done = asked and _asked(state, name, request, timeout + HOST_SECONDS)
            if done and vanished(state, tree.root):
                host.wait()
                keeper.wait()
                await_late_starts(file)
                clear_uploads(chosen, uploads)
                return True
            host.kill("has not ended the topology" if asked else "is stopped")
            vanished(state, tree.scheduler)
        if launch is not None:
            _kill_containers(state, launch, str(file))
        clear_topology(
            state,
            name,
            work_folder(config, name),
            launch,
            keep_logs=keep_logs,
            keep_checkpoints=keep_checkpoints,
            keep_objects=keep_objects,
        )
        keeper.wait()  # it ends by itself, when it sees that the topology is gone
    await_late_starts(file)
    clear_uploads(chosen, uploads)
    return True


def announce_leaving(state: StateManager, tree: Tree) -> None:
    """Mark the topology as leaving: no scheduler process is started any more.

    The last container on each other machine then removes its files.
    """
    try:
        state.set(tree.leaving, b"")
    except StateError as error:
        # a full disk must not keep the topology alive
        log.warning("a process of it, or its files on other machines, may stay: %s", error)


def _asked(state: StateManager, name: str, request: Request, timeout: float) -> bool:
    """Whether the scheduler's process has done it; what it cannot do, this process may."""
    try:
        return send_request(state, name, request, timeout=timeout)
    except UserError as error:
        log.warning("the scheduler's process could not end %s: %s", name, error)
        return False


def clear_topology(
    state: StateManager,
    name: str,
    work: Path,
    launch: TopologyLaunch | None,
    *,
    keep_logs: bool,
    keep_checkpoints: bool,
    keep_objects: bool,
) -> None:
    """Remove files, then nodes: as long as there is a node, a later kill finds what is left."""
    if launch is not None:
        clear_checkpoints(state, launch, keep=keep_checkpoints, keep_objects=keep_objects)
        if launch.sockets:
            shutil.rmtree(launch.sockets, ignore_errors=True)
    kept = {"logs"} if keep_logs else set()
    with contextlib.suppress(FileNotFoundError):
        for entry in list(work.iterdir()):
            if entry.name in kept:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        if not kept:
            work.rmdir()
    state.delete(Tree(name).root, recursive=True)


def _kill_containers(state: StateManager, launch: TopologyLaunch, file: str) -> None:
    name = launch.topology
    plan = _plan(state, name)
    execution = known_execution(state, name)
    chosen = execution.scheduler if execution is not None else _scheduler_of(launch)
    scheduler = installed().scheduler(chosen)()
    scheduler.initialize(
        Config.from_plain(launch.config), TopologyLauncher(file, launch, plan, _shipped(state, name))
    )
    try:
        scheduler.adopt(plan)
        scheduler.on_kill()
    except HeronError as error:
        if launch.keeper != "framework":
            raise
        # a framework that does not answer may never do so again, and the name must come free
        log.warning("processes of %s that may be left there could not be ended: %s", name, error)
    finally:
        scheduler.close()


def _shipped(state: StateManager, name: str) -> tuple[Shipped, ...]:
    try:
        return read_shipped(state, name)
    except OtherFormat:
        return ()  # containers are only ended: nothing has to be brought to them


def _plan(state: StateManager, name: str) -> PackingPlan:
    found = reported(state, Tree(name).packing_plan, PackingPlan)
    return found if found is not None else PackingPlan(name, "", (), 1)


def _scheduler_of(launch: TopologyLaunch) -> str:
    return Config.from_plain(launch.config).text("scheduler.name")


def vanished(state: StateManager, path: str) -> bool:
    """Wait a moment until a node is gone; returns whether it is."""
    changed = threading.Event()
    watch = state.watch(path, changed.set)
    deadline = time.monotonic() + NODE_SECONDS
    try:
        while state.exists(path):
            if not changed.wait(max(0.0, deadline - time.monotonic())):
                return False
            changed.clear()
        return True
    finally:
        watch.cancel()
