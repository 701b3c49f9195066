"""The life of an instance process, top to bottom."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import heronpy.topology  # noqa: F401 - once in the zygote, not in each instance: topology files import it
from heronpy.instances.output.outbox import Stopping
from heronpy.instances.process.control import Control, ProcessId
from heronpy.instances.process.lifecycle import ProcessOfMany, ProcessOfOne
from heronpy.instances.process.socket_link import SocketLink
from heronpy.kernel.config import Config
from heronpy.kernel.machine.addresses import DATA_SOCKET, process_identity, socket_path
from heronpy.kernel.machine.short_waits import end_waits_on_time
from heronpy.kernel.plans import PhysicalPlan, is_fused
from heronpy.kernel.transport import Reactor, Transport
from heronpy.loading import describe_user_error, prepare_process

if TYPE_CHECKING:
    from heronpy.kernel.launch import Child, TopologyLaunch

log = logging.getLogger(__name__)

FAILED = 1


def run(launch: TopologyLaunch, child: Child) -> int:
    """Run spouts and bolts until the process has to stop; exit status 1 when the user's code failed."""
    end_waits_on_time()
    config = Config.from_plain(launch.config)
    sockets = launch.container_sockets(child.container)
    limit, local = config["transport.frame_bytes"], config["transport.local"]
    with Transport(max_bytes=limit, local=local) as transport:
        reactor = Reactor()
        reactor.stop_on_signals()
        control = Control(
            transport,
            sockets,
            ProcessId(child.slot, child.incarnation),
            child.tasks,
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
            return _run_tasks(plan, launch, child, transport, reactor, control)
        finally:
            control.stop()
            reactor.close()


def _run_tasks(
    plan: PhysicalPlan,
    launch: TopologyLaunch,
    child: Child,
    transport: Transport,
    reactor: Reactor,
    control: Control,
) -> int:
    source = plan.logical.source.below(launch.package)
    # config, groupings and saved state may hold objects of the user's classes: all are opened before the
    # component's class is asked for
    prepare_process(source)
    try:
        path = socket_path(launch.container_sockets(child.container), DATA_SOCKET)
        dealer = transport.dealer_local(path, process_identity(child.slot, child.incarnation))
        process = ProcessOfMany if is_fused(plan.logical) else ProcessOfOne
        process(launch, child, SocketLink(reactor, dealer), control).run()
    except Stopping:
        return 0
    except BaseException as error:  # sys.exit() in user code is a failure as well
        failure = describe_user_error(error, source)
        culprits = [plan.task(task).label for task in control.in_call() if plan.has(task)]
        where = f"in {', '.join(culprits)}: " if culprits else ""
        log.error("%s%s", where, failure.traceback or failure.summary)
        control.fail(failure.summary, failure.traceback)
        return FAILED
    return 0
