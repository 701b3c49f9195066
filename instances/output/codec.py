"""Batches of rows to bytes and back, with every value's type kept."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from heronpy.kernel.errors import ProtocolError, TopologyError

Row = tuple[Any, ...]

#: types that MessagePack decodes to exactly the encoded value
SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_PICKLED = 1
#: exceptions raised for bytes that are no batch: not MessagePack, not UTF-8, too deep
NO_BATCH = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Codec(Protocol):
    """Encodes once in the emitting instance, decodes once in the receiving one."""

    @property
    def settled(self) -> frozenset[type]:
        """Types whose values can be encoded at any time: they cannot change. A row of these is not frozen."""

    def freeze(self, row: Row) -> Row:
        """The row as it is now: a component may change a list after it has emitted it."""

    def encode(self, rows: Sequence[Row]) -> bytes:
        """Rows that are frozen, or made of settled types only."""

    def decode(self, payload: bytes) -> list[list[Any]]:
        """The rows; ProtocolError for bytes that are no batch. What the user's code raises stays as it is."""


class PlainCodec:
    """MessagePack for plain values; anything it would change or does not know travels pickled."""

    settled: frozenset[type] = SCALARS

    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[list[Any]], ext_hook=opened).decode

    def freeze(self, row: Row) -> Row:
        return tuple([value if type(value) in SCALARS else self._frozen(value) for value in row])

    def encode(self, rows: Sequence[Row]) -> bytes:
        try:
            return self._encode(rows)
        except (OverflowError, UnicodeEncodeError):
            # an integer beyond 64 bits, or half a surrogate pair
            return self._encode(
                [[portable(value) if type(value) in SCALARS else value for value in row] for row in rows]
            )

    def decode(self, payload: bytes) -> list[list[Any]]:
        try:
            return self._decode(payload)
        except NO_BATCH as error:
            raise _no_batch(payload, error) from error

    def _frozen(self, value: object) -> object:
        form = portable(value)
        return form if type(form) is msgspec.msgpack.Ext else msgspec.Raw(self._encode(form))


def portable(value: object) -> object:
    """The value itself if MessagePack gives it back exactly, else a pickle; TopologyError if neither is."""
    try:
        plain = _survives(value)
    except RecursionError:  # a list that holds itself, which pickle can do
        plain = False
    return value if plain else msgspec.msgpack.Ext(_PICKLED, _pickled(value))


def _survives(value: object) -> bool:
    """Whether MessagePack gives this very value back: it turns tuples, sets, enums and dates into others."""
    kind = type(value)
    if kind is int:
        return -(2**63) <= value < 2**64  # type: ignore[operator]
    if kind is str:
        return value.isascii() or _encodable(value)  # type: ignore[attr-defined, arg-type]
    if kind is list:
        return all(map(_survives, value))  # type: ignore[call-overload]
    if kind is dict:
        return all(
            type(key) is str and _encodable(key) and _survives(item)
            for key, item in value.items()  # type: ignore[attr-defined]
        )
    return kind in SCALARS


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        # lambdas and classes of the submitted file; costs 45 ms to import, so only when needed
        import cloudpickle  # type: ignore[import-untyped]

        try:
            return bytes(cloudpickle.dumps(value, protocol=5))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            msg = f"a value of type {type(value).__name__} cannot be sent: {error}"
            raise TopologyError(msg) from error


def opened(code: int, data: memoryview) -> object:
    """What `portable` has pickled, for decoders."""
    if code != _PICKLED:
        msg = f"unknown extension type {code} in a batch"
        raise ProtocolError(msg)
    try:
        return pickle.loads(data)
    except (pickle.UnpicklingError, EOFError) as error:
        msg = f"a value of {len(data)} bytes that is no pickle: {error}"
        raise ProtocolError(msg) from error


def _no_batch(payload: bytes, error: Exception) -> ProtocolError:
    return ProtocolError(f"{len(payload)} bytes that are no batch: {error}")


class Serializer(Protocol):
    """A user's own serializer (`topology.serializer.classname`)."""

    def serialize(self, obj: object) -> bytes: ...

    def deserialize(self, input_str: bytes) -> object: ...


class SerializerCodec:
    """Every value through the serializer that the topology names."""

    settled: frozenset[type] = frozenset()

    def __init__(self, serializer: Serializer) -> None:
        self._serializer = serializer

    def freeze(self, row: Row) -> Row:
        return tuple(map(self._serializer.serialize, row))

    def encode(self, rows: Sequence[Row]) -> bytes:
        return msgspec.msgpack.encode(rows)

    def decode(self, payload: bytes) -> list[list[Any]]:
        deserialize = self._serializer.deserialize
        try:
            rows = msgspec.msgpack.decode(payload, type=list[list[bytes]])
        except NO_BATCH as error:
            raise _no_batch(payload, error) from error
        return [[deserialize(value) for value in row] for row in rows]
