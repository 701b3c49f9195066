"""Incoming control messages with their sender; malformed ones are dropped, counted and logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.logs.rate_limited import RateLimitedLog
from heronpy.kernel.machine.addresses import peer_name
from heronpy.kernel.protocol import Body, unwrap
from heronpy.kernel.transport import Router

#: messages taken in one turn, so that a flood of them keeps nothing else waiting
MESSAGES_PER_TURN = 256


class Mailbox:
    """The reading side of a router that speaks the control protocol."""

    def __init__(self, router: Router, log: logging.Logger) -> None:
        self._router = router
        self._complaints = RateLimitedLog(log)
        #: malformed messages
        self.rejected = 0

    def messages(self) -> Iterator[tuple[bytes, Body]]:
        """What is waiting, up to a turn's worth: (identity of the sender, message)."""
        for _ in range(MESSAGES_PER_TURN):
            parts = self._router.receive()
            if parts is None:
                return
            try:
                message = _opened(parts)
            except ProtocolError as error:
                self.rejected += 1
                self._complaints.warning("dropped a control message from %s: %s", peer_name(parts[0]), error)
            else:
                yield parts[0], message


def _opened(parts: list[bytes]) -> Body:
    if len(parts) != 2:
        msg = f"{len(parts) - 1} parts instead of one"
        raise ProtocolError(msg)
    return unwrap(parts[1])
