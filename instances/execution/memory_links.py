"""Links between tasks of one loop: frames as on a socket, in queues of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from heronpy.instances.link import FrameHandler, unheard
from heronpy.instances.near_rows import Near, Payload
from heronpy.kernel.flow.frame import Prefix, route

#: with its prefix as bytes or, from a task of this process, as it is
Frame = tuple[bytes, bytes] | tuple[Prefix, Payload]


class MemoryLink:
    """One task's end. What is sent to it waits here until it pumps: no task runs inside another's call."""

    def __init__(self, links: MemoryLinks) -> None:
        self._links = links
        self.send = links.carry
        self.handler: FrameHandler = unheard
        #: what takes batches of neighbours; None while no task is built
        self.on_batch: Near | None = None
        self.arrived: deque[Frame] = deque()
        #: a descriptor of the task's code that the loop waits for until the next turn of the task
        self.watched: int | None = None
        #: whether it has become readable
        self.stirred = False

    @property
    def stopping(self) -> bool:
        return self._links.stopping

    def watch(self, descriptor: int) -> bool:
        if not self._links.can_watch(descriptor):
            return False
        self.watched = descriptor
        return True

    def stir(self) -> None:
        """There is something to read."""
        self.stirred = True

    def pump(self, timeout: float) -> None:
        """Hand in what has come."""
        assert timeout == 0, "only the loop may wait, for all its tasks"
        self.watched, self.stirred = None, False
        for prefix, payload in self._links.due(self):
            if isinstance(prefix, bytes):
                assert isinstance(payload, bytes)
                self.handler(prefix, payload)
            elif self.on_batch is not None:
                self.on_batch(prefix, payload)

    def hand_over(self, prefix: Prefix, payload: Payload) -> None:
        """A batch of a neighbour, for this task."""
        self.arrived.append((prefix, payload))


class MemoryLinks:
    """The links of all tasks of a loop."""

    def __init__(self) -> None:
        self._ends: dict[int, MemoryLink] = {}
        #: set when the loop has to stop
        self.stopping = False

    def open(self, task: int) -> MemoryLink:
        """The link of a task; it takes the place of a predecessor's, with nothing that had come for that."""
        link = self._ends[task] = MemoryLink(self)
        return link

    def close(self, task: int) -> None:
        """Frames for a task that is gone are dropped, as by a Stream Manager without a route."""
        del self._ends[task]

    def can_watch(self, descriptor: int) -> bool:
        """Whether the loop waits for it; never where only time passes."""
        del descriptor
        return False

    def carry(self, prefix: bytes, payload: bytes) -> None:
        receiver = self._ends.get(route(prefix)[0])
        if receiver is not None:
            receiver.arrived.append((prefix, payload))

    def near(self, task: int) -> Near | None:
        """The way to a task of this loop, for batches."""
        end = self._ends.get(task)
        return end.hand_over if end is not None else None

    def due(self, link: MemoryLink) -> Iterable[Frame]:
        """The frames that reach a task now: all that have come for it. They are taken out of its queue."""
        frames, link.arrived = link.arrived, deque()
        return frames
