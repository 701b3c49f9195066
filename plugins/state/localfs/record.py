"""What a value file holds: a checked header and the bytes."""

from __future__ import annotations

import struct
import zlib

import msgspec

from heronpy.kernel.formats import RECORD, RELEASE

MAGIC = b"HPSN"

#: magic, format, heronpy's version, version, owner (empty for a node that stays), length of the value
_HEADER = struct.Struct("<4sB3sQ16sI")
_WRITER = bytes(map(int, RELEASE.split(".")))
_CRC = struct.Struct("<I")
_VALUE_AT = _HEADER.size + _CRC.size


class FileRecord(msgspec.Struct, frozen=True):
    """One value as stored."""

    value: bytes
    version: int
    #: session whose end is the end of the node; empty for a node that stays
    owner: str = ""

    @property
    def durable(self) -> bool:
        """Whether it must be on the disk: an ephemeral one never outlives the machine's next start."""
        return not self.owner

    def encode(self) -> bytes:
        header = _HEADER.pack(
            MAGIC, RECORD.written, _WRITER, self.version, self.owner.encode("ascii"), len(self.value)
        )
        return header + _CRC.pack(zlib.crc32(self.value, zlib.crc32(header))) + self.value


def decode(data: bytes) -> FileRecord | None:
    """The record, or None for anything torn or damaged."""
    if len(data) < _VALUE_AT:
        return None
    magic, layout, writer, version, owner, length = _HEADER.unpack_from(data)
    value = data[_VALUE_AT:]
    (crc,) = _CRC.unpack_from(data, _HEADER.size)
    if magic != MAGIC or length != len(value) or zlib.crc32(value, zlib.crc32(data[: _HEADER.size])) != crc:
        return None
    RECORD.check(layout, ".".join(map(str, writer)), "the state folder")
    return FileRecord(value, version, owner.rstrip(b"\0").decode("ascii"))
