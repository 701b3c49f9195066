"""Links from the other containers: which incarnations are accepted, and how far each link is."""

from __future__ import annotations

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.peer_link import FRAME, SYNC, LinkReceiver, decode_head
from heronpy.kernel.machine.addresses import incarnation_of


class Inbound:
    """One link for the newest incarnation of each other Stream Manager; older ones are rejected."""

    def __init__(self) -> None:
        self._links: dict[bytes, LinkReceiver] = {}
        self._newest: dict[int, tuple[int, bytes]] = {}
        #: public key of each: a container that left and came back counts its incarnations from the start
        self._keys: dict[int, str] = {}
        self._heard: set[bytes] = set()
        #: by links that have ended
        self._repeated_before = 0

    def fence(self, container: int, incarnation: int, key: str = "") -> None:
        """This incarnation has registered: its predecessors are rejected."""
        known, identity = self._newest.get(container, (0, b""))
        another = self._keys.setdefault(container, key) != key
        self._keys[container] = key
        if incarnation > known or another:
            self._end(identity)
            self._newest[container] = incarnation, b""

    def forget(self, container: int) -> None:
        """The process of this container has ended."""
        self._keys.pop(container, None)
        _, identity = self._newest.pop(container, (0, b""))
        self._end(identity)

    def accept(self, identity: bytes, head: bytes) -> bool:
        """Whether the frame after this head is to be forwarded; ProtocolError if its sender is rejected."""
        link = self._links.get(identity)
        if link is None:
            link = self._begin(identity)
        kind, number = decode_head(head)
        self._heard.add(identity)
        if kind == FRAME:
            return link.on_frame(number)
        if kind != SYNC:
            msg = f"link head of kind {kind}"
            raise ProtocolError(msg)
        link.on_sync(number)
        return False

    def replies(self) -> list[tuple[bytes, bytes]]:
        """(identity, reply) for each link that received something since the last call."""
        heard, self._heard = self._heard, set()
        found = [(identity, self._links[identity].reply()) for identity in heard if identity in self._links]
        return [(identity, reply) for identity, reply in found if reply is not None]

    @property
    def repeated(self) -> int:
        return self._repeated_before + sum(link.repeated for link in self._links.values())

    def _begin(self, identity: bytes) -> LinkReceiver:
        try:
            container, incarnation = incarnation_of(identity)
        except ValueError as error:
            raise ProtocolError(str(error)) from error
        known, before = self._newest.get(container, (0, b""))
        if incarnation < known:
            msg = "it has been replaced"
            raise ProtocolError(msg)
        self._end(before)
        self._newest[container] = incarnation, identity
        self._links[identity] = LinkReceiver()
        return self._links[identity]

    def _end(self, identity: bytes) -> None:
        link = self._links.pop(identity, None)
        if link is not None:
            self._repeated_before += link.repeated
