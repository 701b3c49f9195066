"""What a znode holds: which write it was, and the value or the names of its parts."""

from __future__ import annotations

import secrets
import struct
import zlib

import msgspec

from heronpy.kernel.formats import RECORD, RELEASE

#: a znode holds less than ZooKeeper's limit for one message, with room for what else is in it
PART = 512 * 1024

_WHOLE, _SPLIT = b"=", b"+"
_NONCE = 16
#: in front of each: format, heronpy's version, and a checksum of these and of what follows
_HEAD = struct.Struct("<B3sI")
_WRITER = bytes(map(int, RELEASE.split(".")))


class ZNodeRecord(msgspec.Struct, frozen=True):
    """The content of a node with a value."""

    #: names the write: a client that lost the answer can see that it happened
    nonce: str
    value: bytes = b""
    #: how many parts the value is in; 0 when it is here
    parts: int = 0

    def encode(self) -> bytes:
        kind, rest = (_SPLIT, str(self.parts).encode()) if self.parts else (_WHOLE, self.value)
        body = kind + self.nonce.encode() + rest
        return _HEAD.pack(RECORD.written, _WRITER, _checksum(RECORD.written, _WRITER, body)) + body


def new_nonce() -> str:
    return secrets.token_hex(_NONCE // 2)


def decode(data: bytes) -> ZNodeRecord | None:
    """None for data that is not a record, or is damaged."""
    if len(data) <= _HEAD.size:
        return None
    layout, writer, checksum = _HEAD.unpack_from(data)
    data = data[_HEAD.size :]
    if checksum != _checksum(layout, writer, data):
        return None
    RECORD.check(layout, ".".join(map(str, writer)), "the state tree in ZooKeeper")
    kind, nonce, rest = data[:1], data[1 : 1 + _NONCE].decode("ascii", "replace"), data[1 + _NONCE :]
    if kind == _SPLIT and rest.isdigit():
        return ZNodeRecord(nonce, parts=int(rest))
    return ZNodeRecord(nonce, rest) if kind == _WHOLE else None


def _checksum(layout: int, writer: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(bytes([layout]) + writer))


def pieces(value: bytes) -> list[bytes]:
    """The parts of a value that does not fit into one znode; none when it does."""
    if len(value) <= PART:
        return []
    return [value[start : start + PART] for start in range(0, len(value), PART)]
