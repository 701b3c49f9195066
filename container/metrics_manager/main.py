"""The life of a Metrics Manager process: reports in, master and sinks out."""

from __future__ import annotations

import logging
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heronpy.container.metrics_manager.labels import labelled
from heronpy.container.metrics_manager.log_port import LogPort
from heronpy.kernel.config import Config
from heronpy.kernel.machine.addresses import METRICS_MANAGER, METRICS_SOCKET, container_identity, socket_path
from heronpy.kernel.machine.private import make_private
from heronpy.kernel.manager_process import manager_process
from heronpy.kernel.master.connection import MasterConnection
from heronpy.kernel.plans import PhysicalPlan, PlacedTask
from heronpy.kernel.plugin.metric_sink import MetricSink
from heronpy.kernel.plugin.opening import installed
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.protocol import ContainerMetrics, MetricsReport, Sample
from heronpy.kernel.protocol.mailbox import Mailbox
from heronpy.kernel.transport import Reactor, Transport
from heronpy.kernel.tree.mending import keep_registered
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import NodeFollower, read

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

#: a report that has not changed is passed on for so long, until the master sees that it stands still …
STILL_TOLD = 4.0
#: … and then with all others every so many seconds, since the master may have missed it
ALL_TOLD = 10.0


def run(launch: TopologyLaunch, child: Child) -> int:
    """Collect and pass on metrics until the process is ended."""
    with manager_process(launch, child, own_port=False) as (config, state, reactor, transport):
        manager = MetricsManager(launch, child, state, reactor, transport, config["metrics.interval"])
        manager.startup()
        for name in config["metrics.sinks"]:
            manager.add_sink(name, installed(), config)
        reactor.run()
        manager.close()
    return 0


class MetricsManager:
    """Keeps the newest report of every process of the container."""

    def __init__(
        self,
        launch: TopologyLaunch,
        child: Child,
        state: StateManager,
        reactor: Reactor,
        transport: Transport,
        interval: float,
    ) -> None:
        self._launch = launch
        self._child = child
        self._state = state
        self._reactor = reactor
        self._keys = transport.keys
        self._tree = Tree(launch.topology)
        self._router = transport.router_local(
            socket_path(launch.container_sockets(child.container), METRICS_SOCKET)
        )
        identity = container_identity(child.container, child.incarnation)
        self._master = MasterConnection(transport, state, self._tree, identity)
        self._follower = NodeFollower(state, reactor, self._refresh)
        self._tasks: dict[int, PlacedTask] = {}
        #: task id, or the name of a process that is not a task
        self._reports: dict[int | str, MetricsReport] = {}
        #: when each of them last came with other figures
        self._changed_at: dict[int | str, float] = {}
        #: when all reports were passed on
        self._all_told_at = -math.inf
        self._sinks: dict[str, MetricSink] = {}
        self._mailbox = Mailbox(self._router, log)
        self._interval = interval
        #: where clients can ask for logs, if those are not on their own machine
        self._port = LogPort(launch.logs, self._tree, state, reactor, transport) if launch.remote else None
        self._path = self._tree.metrics_manager(child.container)
        endpoint = self._port.endpoint if self._port is not None else ""
        self._registration = Registration(self._keys.public, child.incarnation, endpoint, os.getpid())

    def startup(self) -> None:
        if not keep_registered(self._state, self._reactor, self._path, self._registration, self._leave):
            return
        self._reactor.register(self._router, self._on_reports)
        self._reactor.call_every(self._interval, self._pass_on)
        self._follower.follow(self._tree.master, self._tree.physical_plan)
        self._follower.look()

    def _leave(self) -> None:
        log.error("another Metrics Manager has this container: ending")
        self._reactor.stop()

    def add_sink(self, name: str, registry: Registry, config: Config) -> None:
        """A sink that cannot start is logged and left out: metrics never stop a topology."""
        folder = Path(self._launch.work) / "metrics"
        try:
            make_private(folder)
            sink = registry.metric_sink(name)()
            sink.initialize(config, self._launch.topology, self._child.container, str(folder))
        except Exception:
            log.exception("metric sink %s does not start", name)
        else:
            self._sinks[name] = sink

    def close(self) -> None:
        for name, sink in self._sinks.items():
            try:
                sink.close()
            except Exception:
                log.exception("metric sink %s did not close", name)

    def _refresh(self) -> None:
        self._master.refresh(on_connected=self._tell_all)
        plan = read(self._state, self._tree.physical_plan, PhysicalPlan)
        if plan is not None:
            self._tasks = {task.id: task for task in plan.tasks}

    def _on_reports(self) -> None:
        for _, message in self._mailbox.messages():
            if isinstance(message, MetricsReport):
                self._take(message)

    def _take(self, report: MetricsReport) -> None:
        key = report.task or report.source
        if report != self._reports.get(key):
            self._reports[key], self._changed_at[key] = report, time.monotonic()

    def _tell_all(self) -> None:
        """The next time."""
        self._all_told_at = -math.inf

    def _own_report(self) -> MetricsReport:
        count = self._mailbox.rejected + self._router.refused
        count += self._port.rejected if self._port is not None else 0
        rejected = Sample(name="rejected", value=count, kind="counter")
        return MetricsReport(
            source=METRICS_MANAGER, incarnation=self._child.incarnation, pid=os.getpid(), samples=[rejected]
        )

    def _pass_on(self) -> None:
        self._take(self._own_report())
        now = time.monotonic()
        since = now - max(STILL_TOLD, 4 * self._interval)
        if now - self._all_told_at >= ALL_TOLD:
            self._all_told_at, since = now, -math.inf
        news = [report for key, report in self._reports.items() if self._changed_at[key] >= since]
        if news:
            self._master.send(ContainerMetrics(container=self._child.container, reports=news))
        if not self._sinks:
            return
        reports = list(self._reports.values())
        samples = labelled(reports, self._tasks, self._launch.topology, self._child.container)
        for name, sink in self._sinks.items():
            try:
                sink.write(time.time(), samples)
            except Exception:
                log.exception("metric sink %s failed", name)
