"""What a znode holds: which write it was, and the value or the names of its parts."""

from __future__ import annotations

import secrets

import msgspec

#: a znode holds less than ZooKeeper's limit for one message, with room for what else is in it
PART = 512 * 1024

_WHOLE, _SPLIT = b"=", b"+"
_NONCE = 16


class Record(msgspec.Struct, frozen=True):
    """The content of a node with a value."""

    #: names the write: whoever lost the answer to it can tell that it happened
    nonce: str
    value: bytes = b""
    #: how many parts the value is in; 0 when it is here
    parts: int = 0

    def encode(self) -> bytes:
        if self.parts:
            return _SPLIT + self.nonce.encode() + str(self.parts).encode()
        return _WHOLE + self.nonce.encode() + self.value


def new_nonce() -> str:
    return secrets.token_hex(_NONCE // 2)


def decode(data: bytes) -> Record | None:
    """None for a node that has no value."""
    kind, nonce, rest = data[:1], data[1 : 1 + _NONCE].decode("ascii", "replace"), data[1 + _NONCE :]
    if kind == _SPLIT and rest.isdigit():
        return Record(nonce, parts=int(rest))
    return Record(nonce, rest) if kind == _WHOLE else None


def pieces(value: bytes) -> list[bytes]:
    """The parts of a value that does not fit into one znode; none when it does."""
    if len(value) <= PART:
        return []
    return [value[start : start + PART] for start in range(0, len(value), PART)]
