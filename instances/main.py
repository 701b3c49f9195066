"""The life of an instance process, top to bottom."""

from __future__ import annotations

import functools
import gc
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from heronpy.instances.control import Control
from heronpy.instances.forks import guard_forks
from heronpy.instances.outbox import Stopping
from heronpy.instances.settings import FlowSettings
from heronpy.instances.socket_link import SocketLink
from heronpy.instances.task import Task, build_task
from heronpy.kernel.addresses import DATA_SOCKET, socket_path, task_identity
from heronpy.kernel.config import Config
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.transport import Reactor, Transport
from heronpy.loading import describe_user_error, resolve_class

if TYPE_CHECKING:
    from heronpy.container.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

FAILED = 1

#: new objects before a collection of the youngest, and how many of those before an older generation
GC_THRESHOLDS = (50_000, 20, 50)


def run(launch: TopologyLaunch, child: Child) -> int:
    """Run one spout or bolt until told to end; the exit status is 1 when the user's code failed."""
    config = Config.from_plain(launch.config)
    sockets = launch.container_sockets(child.container)
    with Transport(max_bytes=config["transport.frame_bytes"]) as transport:
        reactor = Reactor()
        reactor.stop_on_signals()
        control = Control(
            transport,
            sockets,
            child.task,
            child.incarnation,
            child.lifeline,
            config["container.silence"],
            config["metrics.interval"],
            reactor.wake,
        )
        control.start()
        try:
            plan = control.wait_for_plan(lambda: reactor.stopping)
            if plan is None:
                return 0
            return _run_task(plan, child, config, sockets, transport, reactor, control)
        finally:
            control.stop()
            reactor.close()


def _run_task(
    plan: PhysicalPlan,
    child: Child,
    config: Config,
    sockets: Path,
    transport: Transport,
    reactor: Reactor,
    control: Control,
) -> int:
    source = plan.logical.source
    try:
        dealer = transport.dealer_ipc(
            socket_path(sockets, DATA_SOCKET), task_identity(child.task, child.incarnation)
        )
        link = SocketLink(reactor, dealer)
        settings = FlowSettings.from_config(config)
        task = build_task(
            plan, child.task, child.incarnation, link, settings, functools.partial(resolve_class, source)
        )
        link.handler = task.on_frame
        guard_forks(in_child=task.parts.collector.disown)
        control.samples = task.parts.counters.samples
        control.losses = task.parts.counters
        task.parts.counters.on_loss = control.tell
        control.held_up_by = task.held_up_by
        control.hold_ups = task.parts.outbox.hold_ups.lasting
        control.returned_at = lambda: task.parts.counters.returned_at
        _loop(task, reactor, control)
    except Stopping:
        return 0
    except BaseException as error:  # sys.exit() in user code is a failure as well
        failure = describe_user_error(error, source)
        log.error("%s", failure.traceback or failure.summary)
        control.report("failed", failure.summary, failure.traceback)
        return FAILED
    return 0


def _loop(task: Task, reactor: Reactor, control: Control) -> None:
    """Initialize, then one turn after another until told to end."""
    call = (
        "next_tuple"
        if task.parts.plan.logical.component(task.parts.context.get_component_id()).kind == "spout"
        else "process"
    )
    _enter(control, "initialize")
    task.initialize()
    _calm_collector()
    _leave(control)
    log.info("pid %d runs %s", os.getpid(), task.parts.logger.name)
    active = None
    while not reactor.stopping:
        if control.active is not active:
            active = control.active
            task.loop.set_live(active)
            control.report("running" if active else "paused")
        _enter(control, call)
        task.turn()
    _leave(control)
    task.close()


def _calm_collector() -> None:
    """Keep the cycle collector away from what was built at start, and from batches that live for a moment.

    By default it runs after every 700 new objects, which is more often than once a batch: a word count over a
    large vocabulary spent half of its time there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _enter(control: Control, call: str) -> None:
    control.in_call = call
    control.in_call_since = time.monotonic()


def _leave(control: Control) -> None:
    control.in_call_since = 0.0
