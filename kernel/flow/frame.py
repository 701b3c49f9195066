"""Data frames: a fixed-width routing prefix and a payload that only the two ends understand.

The layout, its version and every kind are described in docs/protocol.md.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.formats import PROTOCOL

MAGIC: Final = 0x5048  # "HP" on the wire
VERSION: Final = PROTOCOL

#: a batch of tuples of one stream
DATA: Final = 1
#: receiver to emitter: how far it may go
CREDIT: Final = 2
#: emitter to receiver: "I have waited long; this is how far I went"
PROBE: Final = 3

#: a batch whose tuples belong to trees: in front of it, to which
ANCHORED: Final = 4
#: bolt to spout: what has been acked and failed
ACK: Final = 5

#: emitter to receiver: a barrier, a marker or the end of input (`kernel/flow/signals.py`)
SIGNAL: Final = 6

KINDS: Final = frozenset({DATA, CREDIT, PROBE, ANCHORED, ACK, SIGNAL})

# magic, version, kind, destination, source, stream, tuples, epoch, incarnation, run, position
_HEAD = struct.Struct("<HBBIIHIIQIQ")
_CRC = struct.Struct("<I")
_ALL = struct.Struct(_HEAD.format + "I")
_ROUTE = struct.Struct("<HBBII")
_KIND_AT: Final = 3

PREFIX_BYTES: Final = _ALL.size


class Prefix(NamedTuple):
    """What is known of a frame without opening it."""

    kind: int
    destination: int
    source: int
    stream: int
    #: how many the payload holds
    tuples: int
    #: plan that routed it
    epoch: int
    #: of the source process
    incarnation: int
    #: raised by each restore; frames of an earlier run are dropped
    run: int
    #: tuples sent on this source→destination channel before this frame
    position: int


def seal(prefix: Prefix, payload: bytes) -> tuple[bytes, bytes]:
    """The two parts of a frame as they travel, with a checksum over both."""
    head = _HEAD.pack(MAGIC, VERSION, *prefix)
    return head + _CRC.pack(zlib.crc32(payload, zlib.crc32(head))), payload


def unseal(prefix: bytes, payload: bytes) -> Prefix:
    """Read and check a whole frame; ProtocolError says what is wrong with it."""
    if len(prefix) != PREFIX_BYTES:
        msg = f"prefix of {len(prefix)} bytes instead of {PREFIX_BYTES}"
        raise ProtocolError(msg)
    magic, version, *fields, crc = _ALL.unpack_from(prefix)
    _check_kind(magic, version, fields[0])
    if zlib.crc32(payload, zlib.crc32(prefix[: _HEAD.size])) != crc:
        msg = "checksum does not match"
        raise ProtocolError(msg)
    return Prefix(*fields)


def claimed_sender(prefix: bytes) -> tuple[int, int] | None:
    """Task and incarnation that a damaged frame says it is from; None when it is too short to say."""
    if len(prefix) != PREFIX_BYTES:
        return None
    fields = Prefix(*_ALL.unpack_from(prefix)[2:-1])
    return fields.source, fields.incarnation


def route(prefix: bytes) -> tuple[int, int]:
    """Destination and source task: all that a Stream Manager ever looks at."""
    if len(prefix) != PREFIX_BYTES:
        msg = f"prefix of {len(prefix)} bytes instead of {PREFIX_BYTES}"
        raise ProtocolError(msg)
    magic, version, kind, destination, source = _ROUTE.unpack_from(prefix)
    if magic != MAGIC or version != VERSION or kind not in KINDS:
        _check_kind(magic, version, kind)
    return destination, source


def has_tuples(prefix: bytes) -> bool:
    """Whether something is lost with a frame; what the others say is said again, or concerns nobody else."""
    return prefix[_KIND_AT] in (DATA, ANCHORED)


def _check_kind(magic: int, version: int, kind: int) -> None:
    if magic != MAGIC:
        msg = f"not a heronpy frame (magic {magic:#06x})"
        raise ProtocolError(msg)
    if version != VERSION:
        msg = f"protocol version {version}, this side speaks {VERSION}"
        raise ProtocolError(msg)
    if kind not in KINDS:
        msg = f"unknown frame kind {kind}"
        raise ProtocolError(msg)
