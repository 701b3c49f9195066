"""The background process of a topology that hosts its scheduler plugin: starting it, and being it."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from heronpy.container.execution import await_execution, is_current, read_execution
from heronpy.container.folders import launch_file, own_work_folder, renew_sockets
from heronpy.container.processes.child import configure_logging
from heronpy.container.remote.shipped import read_shipped
from heronpy.container.scheduler.launcher import TopologyLauncher
from heronpy.container.scheduler.scheduler_handle import MODULE, SchedulerNode
from heronpy.container.scheduler.scheduler_loop import SchedulerLoop
from heronpy.container.teardown import vanished
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, HeronError, NodeExists, UserError
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.private import make_private, private
from heronpy.kernel.plans import PackingPlan
from heronpy.kernel.plugin import Registry, Scheduler, StateManager
from heronpy.kernel.plugin.opening import installed, open_state
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import needed, read

log = logging.getLogger(__name__)

READY = b"ready"


class SchedulerStartFailed(UserError):
    """The scheduler's process did not start; the reason is in its log."""


#: lines of its log that are shown when it does not start
TAIL = 10


def start(file: Path, *, timeout: float = 120.0) -> None:
    """Start the process in the background; returns when it has started the containers, or another has them.

    It inherits no terminal and no pipes; its output goes to the topology's logs/scheduler.log.
    """
    path = Path(file).resolve()
    launch = TopologyLaunch.read(path)
    if launch.keeper == "framework":
        _start_elsewhere(path, launch, timeout)
        return
    logs = launch.logs
    make_private(logs)
    log_file = logs / "scheduler.log"
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as ready:
        try:
            _run_detached(path, log_file, writer)
        finally:
            os.close(writer)
        said = ready.read(select.PIPE_BUF) if select.select([ready], [], [], timeout)[0] else b""
        if said and said != READY:
            raise UserError(said.decode(errors="replace"))
        if not said:
            tail = "\n".join(log_file.read_text(errors="replace").splitlines()[-TAIL:])
            msg = f"the scheduler's process did not start; the end of {log_file}:\n{tail}"
            raise SchedulerStartFailed(msg)


def revive(config: Config, state: StateManager, name: str) -> bool:
    """Start a topology again of which no process is left, as after a reboot; returns whether it did."""
    tree, file = Tree(name), launch_file(config, name)
    if state.exists(tree.scheduler) or state.exists(tree.master):
        return False
    if state.exists(tree.execution) and not state.exists(tree.live):
        msg = f"topology {name!r} is being submitted, or its submit was cut short"
        raise UserError(msg, hint=f"retry; if this lasts, heronpy kill {name}, then submit it again")
    if not file.exists() or read(state, tree.packing_plan, PackingPlan) is None:
        return False
    own_work_folder(config, name)
    start(file)
    return True


def _start_elsewhere(file: Path, launch: TopologyLaunch, timeout: float) -> None:
    """Have the scheduler plugin start the process on another machine, and wait until it serves."""
    config, tree = Config.from_plain(launch.config), Tree(launch.topology)
    registry = installed()
    state = open_state(config, registry)
    try:
        execution = read_execution(state, launch.topology)
        assert execution is not None
        plan = needed(state, tree.packing_plan, PackingPlan)
        launcher = TopologyLauncher(str(file), launch, plan, read_shipped(state, launch.topology))
        registry.scheduler(execution.scheduler)().start_host(config, launcher)
        deadline = time.monotonic() + timeout
        while not state.exists(tree.scheduler):
            if time.monotonic() > deadline:
                msg = f"the scheduler's process started elsewhere, but has not registered after {timeout:g} s"
                raise UserError(msg, hint=f"read the cluster's logs, then heronpy kill {launch.topology}")
            time.sleep(0.1)
    finally:
        state.close()


def _run_detached(file: Path, log_file: Path, ready: int) -> None:
    command = [sys.executable, "-P", "-m", MODULE]
    with open(log_file, "ab", opener=private) as output:
        # returns soon: the process detaches as soon as it can
        subprocess.run(
            [*command, str(file), "--ready", str(ready)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(ready,),
            start_new_session=True,
            check=False,
        )


def host(file: str, ready: int | None = None) -> None:
    """Claim the topology's scheduler node and serve; return at once if another process has it."""
    launch = TopologyLaunch.read(file)
    configure_logging(launch)
    config = Config.from_plain(launch.config)
    registry = installed()
    state = open_state(config, registry)
    try:
        await_execution(state, launch)
        scheduler = _claim(launch, state, registry)
        while scheduler is None and launch.keeper == "framework" and is_current(state, launch):
            # the framework considers the predecessor dead: its node in the state tree expires soon
            vanished(state, Tree(launch.topology).scheduler)
            scheduler = _claim(launch, state, registry)
        if scheduler is None:
            _tell(ready)
        else:
            renew_sockets(Path(file))
            SchedulerLoop(file, state, scheduler).run(lambda: _tell(ready))
    finally:
        state.close()


def _tell(ready: int | None) -> None:
    if ready is not None:
        os.write(ready, READY)
        os.close(ready)


def _claim(launch: TopologyLaunch, state: StateManager, registry: Registry) -> Scheduler | None:
    name, tree = launch.topology, Tree(launch.topology)
    execution = read_execution(state, name)
    if execution is None or not is_current(state, launch):
        msg = f"topology {name!r} is not in the state tree"
        raise UserError(msg, hint="submit it again")
    if state.exists(tree.leaving):
        # its containers are being ended: to start them again would leave files on other machines
        msg = f"topology {name!r} is being killed"
        raise UserError(msg, hint=f"heronpy kill {name}, if this lasts")
    scheduler = registry.scheduler(execution.scheduler)()
    node = SchedulerNode.of_this_process({})
    try:
        state.create(tree.scheduler, NODE.encode(node), ephemeral=True)
    except (NodeExists, DamagedNode):
        # one that is damaged and was not removed has an owner, which makes it again
        log.info("another process has %s", name)
        return None
    if not is_current(state, launch):
        # killed in between: this node must not be all that is left of the topology
        state.delete(tree.scheduler)
        if not state.children(tree.root):
            state.delete(tree.root)
        return None
    return scheduler


def main(argv: Sequence[str]) -> int:
    """`python -m heronpy.container.scheduler.scheduler_host LAUNCH_FILE [--ready FD]`."""
    parser = argparse.ArgumentParser(prog=MODULE)
    parser.add_argument("launch_file")
    parser.add_argument("--ready", type=int, help="go to the background and write here when serving")
    options = parser.parse_args(argv)
    if options.ready is not None:
        os.set_inheritable(options.ready, False)
        if os.fork():
            os._exit(0)
    try:
        host(options.launch_file, options.ready)
    except HeronError as error:
        print(error, file=sys.stderr)
        if options.ready is not None:
            # closed already if it had served by then
            with contextlib.suppress(OSError):
                os.write(options.ready, str(error).encode()[: select.PIPE_BUF])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
