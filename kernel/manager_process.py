"""What the processes of the Topology Master, Stream Managers and Metrics Managers begin and end with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from heronpy.kernel.config import Config
from heronpy.kernel.launch import Child, TopologyLaunch
from heronpy.kernel.liveness.lifeline import hold
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.transport import Reactor, Transport


class ManagerProcess(NamedTuple):
    """The state tree, the event loop and the sockets of this process."""

    config: Config
    state: StateManager
    reactor: Reactor
    transport: Transport


@contextlib.contextmanager
def manager_process(
    launch: TopologyLaunch, child: Child, *, own_port: bool = True
) -> Iterator[ManagerProcess]:
    """Opens everything; the reactor ends on a signal and with the executor. Closes everything.

    Listens on `transport.port` plus the number of the container if that is set and `own_port` is not False:
    a container has one such port.
    """
    config = Config.from_plain(launch.config)
    state = open_state(config)
    reactor = Reactor()
    reactor.stop_on_signals()
    hold(reactor, child.lifeline, config["container.silence"])
    port = config["transport.port"] if own_port else 0
    transport = Transport(
        host=config["transport.host"],
        port=port and port + child.container,
        max_bytes=config["transport.frame_bytes"],
        handshake=config["transport.handshake"],
        local=config["transport.local"],
    )
    with transport:
        yield ManagerProcess(config, state, reactor, transport)
    state.close()
    reactor.close()
