"""How an executor gets new processes: from its zygote, or from a fresh interpreter."""

from __future__ import annotations

import array
import collections
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec

from heronpy.container.processes.child import Start
from heronpy.container.processes.zygote import MESSAGE_BYTES, Forked, serve_forked
from heronpy.kernel.errors import PeerLost
from heronpy.kernel.launch import Role, TopologyLaunch

ZYGOTE = (sys.executable, "-P", "-m", "heronpy.container.processes.zygote")
CHILD = (sys.executable, "-P", "-m", "heronpy.container.processes.child")

#: a zygote that does not answer for so long hangs; it may still be importing
SILENCE_SECONDS = 30.0

#: requests on their way to the zygote; more would fill the socket in one direction or the other
OUTSTANDING = 32

log = logging.getLogger(__name__)


def spawn(launch_file: str, start: Start, lifeline: int, command: Sequence[str] = CHILD) -> int:
    """Start a child with a fresh interpreter; returns its pid. Takes the lifeline over."""
    child = msgspec.structs.replace(start.child, lifeline=lifeline)
    words = msgspec.json.encode(Start(child, start.log)).decode()
    try:
        return _start([*command, launch_file, words], lifeline)
    finally:
        os.close(lifeline)


def _start(argv: list[str], inherited: int) -> int:
    os.set_inheritable(inherited, True)
    # Python ignores SIGPIPE, and the child must not inherit that; all other signals are as they were
    return os.posix_spawn(argv[0], argv, os.environ, setsigdef=[signal.SIGPIPE])


def _pair() -> tuple[socket.socket, socket.socket]:
    """The executor's end, which never blocks, and the zygote's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    return ours, theirs


class ZygoteClient:
    """The executor's end of the zygote. Never blocks; replies come when the socket is readable."""

    def __init__(self, launch_file: str, container: int, command: Sequence[str] = ZYGOTE) -> None:
        self._launch_file = launch_file
        self._container = container
        self._command = command
        self._socket: socket.socket | None = None
        self._queue: collections.deque[tuple[Start, int]] = collections.deque()
        #: incarnations that the zygote was asked for and has not answered, and when
        self._asked: dict[int, float] = {}
        self.pid = 0

    def fileno(self) -> int:
        """To wait on; -1 while there is no zygote."""
        return self._socket.fileno() if self._socket is not None else -1

    def open(self) -> None:
        """Start a zygote with a fresh interpreter, if there is none."""
        if self._socket is not None:
            return
        ours, theirs = _pair()
        with theirs:
            words = [self._launch_file, str(self._container), str(theirs.fileno())]
            self.pid = _start([*self._command, *words], theirs.fileno())
        self._socket = ours

    def fork_zygote(self, launch: TopologyLaunch, roles: Mapping[Role, str]) -> None:
        """Fork the first zygote: what it has in common with this process is imported once.

        Only while this process has one thread and holds nothing that two must not share.
        """
        ours, theirs = _pair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            serve_forked(launch, self._container, theirs, roles)
        theirs.close()
        self._socket = ours

    def fork(self, start: Start, lifeline: int) -> None:
        """Ask for a child. Takes the lifeline over."""
        self._queue.append((start, lifeline))
        self._send()

    def replies(self) -> list[Forked]:
        """What the zygote has answered by now; PeerLost when it is gone."""
        replies: list[Forked] = []
        while self._socket is not None:
            try:
                data = self._socket.recv(MESSAGE_BYTES)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            if not data:
                if replies:
                    break
                msg = f"zygote {self.pid} is gone"
                raise PeerLost(msg)
            reply = msgspec.json.decode(data, type=Forked)
            self._asked.pop(reply.incarnation, None)
            replies.append(reply)
        self._send()
        return replies

    def waiting(self) -> bool:
        """True while some start is not answered."""
        return bool(self._queue or self._asked)

    def silent_after(self) -> float | None:
        """When the zygote counts as hung, unless it answers before."""
        return min(self._asked.values()) + SILENCE_SECONDS if self._asked else None

    def kill(self) -> None:
        """End a zygote that hangs; replies() raises when it is gone."""
        log.warning("zygote %d does not answer, killed", self.pid)
        os.kill(self.pid, signal.SIGKILL)

    def close(self) -> list[int]:
        """Disconnect the zygote, which then ends; returns the incarnations it was asked for in vain."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        unanswered = [*self._asked, *(start.child.incarnation for start, _ in self._queue)]
        for _, lifeline in self._queue:
            os.close(lifeline)
        self._queue.clear()
        self._asked.clear()
        self.pid = 0
        return unanswered

    def _send(self) -> None:
        while self._queue and len(self._asked) < OUTSTANDING:
            self.open()
            assert self._socket is not None
            start, lifeline = self._queue[0]
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [lifeline]))
            try:
                self._socket.sendmsg([msgspec.json.encode(start)], [rights])
            except (BrokenPipeError, ConnectionResetError):
                # its end of file is on the way to replies()
                return
            self._queue.popleft()
            os.close(lifeline)
            self._asked[start.child.incarnation] = time.monotonic()
