"""Serves the logs of this machine to clients on other machines."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from heronpy.kernel.errors import PeerLost
from heronpy.kernel.logs.log_rotation import log_extents, read_log
from heronpy.kernel.protocol import LogFile, LogReply, LogRequest, LogsReply, LogsRequest, wrap
from heronpy.kernel.transport import Router

#: most bytes of one answer, whatever is asked for
MOST: Final = 256 * 1024
#: most logs in one answer
MOST_LOGS: Final = 1000


class LogServer:
    """Serves the logs of one folder, and no other file in it."""

    def __init__(self, folder: Path, router: Router) -> None:
        self._folder = folder
        self._router = router

    def answer(self, identity: bytes, request: LogsRequest | LogRequest) -> None:
        """Answers are not retried: a client that does not keep up repeats its request."""
        if isinstance(request, LogsRequest):
            logs = [
                LogFile(name=name, bytes=extent.stop, first=extent.start)
                for name, extent in log_extents(self._folder).items()
            ]
            reply = wrap(LogsReply(number=request.number, logs=logs[:MOST_LOGS]))
        else:
            most = min(request.most, MOST)
            data = self._read(request.name, request.offset, most) if most else b""
            reply = wrap(LogReply(number=request.number, data=data))
        with contextlib.suppress(PeerLost):
            self._router.send(identity, reply)

    def _read(self, name: str, offset: int, most: int) -> bytes:
        if name not in log_extents(self._folder):
            return b""  # no such log; no other file may be read this way
        return read_log(self._folder, name, offset, most)
