"""A small process beside the scheduler's, which restarts it; each of the two keeps the other running.

Where containers end with the scheduler's process, or run on other machines, container 0 cannot do it.
"""

from __future__ import annotations

import logging
import select
import signal
import sys
import time
from collections.abc import Sequence

from heronpy.container.execution import await_execution, is_current
from heronpy.container.processes.child import configure_logging
from heronpy.container.processes.detached import start_detached
from heronpy.container.scheduler.scheduler_handle import SchedulerNode
from heronpy.container.watchdog.scheduler_watch import SchedulerWatchdog
from heronpy.kernel.config import Config
from heronpy.kernel.errors import DamagedNode, NodeExists, StateError
from heronpy.kernel.formats import NODE
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine.wakeup import Wakeup
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.tree.paths import Tree
from heronpy.kernel.tree.registrations import read

log = logging.getLogger(__name__)

MODULE = "heronpy.container.watchdog.watchdog_process"

#: the longest wait between two looks at the topology, and for a state tree that cannot be read
LOOK_SECONDS = 5.0


class Watchdog:
    """Single by its ephemeral node, as the scheduler's process is by its own."""

    def __init__(self, launch_file: str, launch: TopologyLaunch, state: StateManager) -> None:
        self._launch = launch
        self._state = state
        self._tree = Tree(launch.topology)
        self._keeper = SchedulerWatchdog(launch_file, launch, state)
        self._wakeup = Wakeup()
        self._stopping = False

    def run(self) -> None:
        """Until the topology is gone, or another watchdog has the node."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop_signal)
        # the starter of the scheduler's process need not wait for it
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self._wakeup.on_signals()
        session = self._claim()
        self._keeper.watch(self._wakeup.wake)
        watch = self._state.watch(self._tree.execution, self._wakeup.wake)
        while not self._stopping:
            try:
                if self._state.session != session:
                    session = self._claim()
                if not is_current(self._state, self._launch):
                    break
                self._stay()
            except StateError as error:
                log.warning("could not read the state of the topology: %s", error)
            self._keeper.tick(time.monotonic())
            self._wait()
        watch.cancel()
        self._wakeup.close()

    def _claim(self) -> int:
        session = self._state.session
        try:
            value = NODE.encode(SchedulerNode.of_this_process({}))
            self._state.create(self._tree.keeper, value, ephemeral=True)
        except (NodeExists, DamagedNode):
            # one that is damaged and was not removed has an owner, which makes it again
            self._stopping = True
        return session

    def _stay(self) -> None:
        try:
            read(self._state, self._tree.keeper, SchedulerNode)
        except DamagedNode as damage:
            log.warning("%s; it is made again", damage)
            self._state.delete(self._tree.keeper)
            self._claim()

    def _wait(self) -> None:
        left = max(0.0, self._keeper.next_deadline() - time.monotonic())
        poll = select.poll()
        poll.register(self._wakeup, select.POLLIN)
        poll.poll(min(LOOK_SECONDS, left) * 1000)
        self._wakeup.drain()

    def _on_stop_signal(self, *_: object) -> None:
        self._stopping = True


class KeptAlive:
    """Makes sure that the watchdog process of the scheduler's process is running."""

    def __init__(self, launch_file: str, launch: TopologyLaunch, state: StateManager) -> None:
        self._command = [sys.executable, "-P", "-m", MODULE, launch_file]
        self._log = launch.logs / "scheduler.log"
        self._path = Tree(launch.topology).keeper
        self._state = state
        self._again_at = 0.0

    def see_to_it(self, now: float) -> None:
        if now >= self._again_at and not self._state.exists(self._path):
            # it may take a moment until its node is there
            self._again_at = now + LOOK_SECONDS
            start_detached(self._command, self._log)


def main(argv: Sequence[str]) -> int:
    """`python -m heronpy.container.watchdog.watchdog_process LAUNCH_FILE`."""
    launch = TopologyLaunch.read_or_exit(argv[0])
    configure_logging(launch)
    state = open_state(Config.from_plain(launch.config))
    try:
        await_execution(state, launch)
        if is_current(state, launch):
            Watchdog(argv[0], launch, state).run()
    finally:
        state.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
