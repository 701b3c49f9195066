"""The links of the tasks of one process: in memory among themselves, through its socket to all others."""

from __future__ import annotations

from typing_extensions import override

from heronpy.instances.execution.memory_links import MemoryLinks
from heronpy.instances.process.socket_link import SocketLink, readable
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.frame import route


class FusedLinks(MemoryLinks):
    """Does for the tasks of a process what a Stream Manager does for those of a container.

    A frame for a task of this process waits for its turn; one for any other task leaves.
    """

    def __init__(self, socket: SocketLink) -> None:
        super().__init__()
        self._socket = socket
        socket.handler = self._arrive

    def wait(self, seconds: float) -> None:
        """Take in what has come from outside; wait that long if nothing has, for descriptors of tasks too."""
        for link in self._ends.values():
            if link.watched is not None and not self._socket.watch(link.watched, link.stir):
                link.stir()
                seconds = 0.0
        self._socket.pump(seconds)
        self.stopping = self._socket.stopping

    @override
    def can_watch(self, descriptor: int) -> bool:
        return not readable(descriptor)

    @override
    def carry(self, prefix: bytes, payload: bytes) -> None:
        receiver = self._ends.get(route(prefix)[0])
        if receiver is not None:
            receiver.arrived.append((prefix, payload))
        else:
            self._socket.send(prefix, payload)

    def _arrive(self, prefix: bytes, payload: bytes) -> None:
        """A frame from outside. What is for none of the tasks goes to the first, which refuses it."""
        try:
            receiver = self._ends.get(route(prefix)[0])
        except ProtocolError:
            receiver = None
        if receiver is None:
            receiver = next(iter(self._ends.values()), None)
        if receiver is not None:
            receiver.arrived.append((prefix, payload))
