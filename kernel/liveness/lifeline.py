"""The socket between an executor and a child: bytes are heartbeats, and its end shows that one is gone."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

from heronpy.kernel.liveness.silence import LONGEST, LOOKS

if TYPE_CHECKING:
    from heronpy.kernel.transport import Reactor


def lifeline() -> tuple[socket.socket, socket.socket]:
    """The executor's end and the child's. Neither ever waits."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


def beat(descriptor: int) -> None:
    """Send a heartbeat to the executor. If the socket is full, enough heartbeats wait there already."""
    with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
        os.write(descriptor, b".")


def beat_interval(silence: float) -> float:
    """How often to beat when `silence` seconds without a beat are deadly."""
    return min(LONGEST, silence / LOOKS)


def hold(reactor: Reactor, descriptor: int, silence: float) -> None:
    """Let the reactor end with the executor, and prove to it that the reactor turns."""
    reactor.stop_on_close(descriptor)
    reactor.call_every(beat_interval(silence), lambda: beat(descriptor))


def has_beaten(line: socket.socket) -> bool:
    """Whether the child has sent a heartbeat since the last call."""
    try:
        return bool(line.recv(4096))
    except (BlockingIOError, ConnectionResetError):
        return False
