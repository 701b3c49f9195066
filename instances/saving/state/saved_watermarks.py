"""How far each key group has been worked in event time, as it is saved beside the keys of the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

#: where among the extras it lies
WATERMARKS: Final = "watermarks"

_DECODER: Final = msgspec.msgpack.Decoder(dict[int, list[int]])


def encode_watermarks(watermarks: Mapping[int, int]) -> bytes:
    """Group → watermark. In quiet times all have the same, so it is written as watermark → groups."""
    groups: dict[int, list[int]] = {}
    for group, at in watermarks.items():
        groups.setdefault(at, []).append(group)
    return msgspec.msgpack.encode(groups)


def decode_watermarks(data: bytes) -> dict[int, int]:
    return {group: at for at, groups in _DECODER.decode(data).items() for group in groups}
