"""What a disk can do to a file that was written whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path


def _emptied(data: bytes) -> bytes:
    del data
    return b""


def _cut_in_half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _no_json(data: bytes) -> bytes:
    return _bit_changed(data, data.index(b"{"))


def _another_shape(data: bytes) -> bytes:
    """Still JSON, with another name for a field."""
    return _bit_changed(data, data.index(b"execution"))


def _another_path(data: bytes) -> bytes:
    """Still JSON of the same shape: only the checksum tells."""
    return _bit_changed(data, data.rindex(b"heronpy-"))


def _bit_changed(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


#: kinds of damage to a launch file
DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "emptied": _emptied,
    "cut in half": _cut_in_half,
    "no JSON": _no_json,
    "another shape": _another_shape,
    "another path": _another_path,
}


def damage(file: Path, kind: str) -> None:
    """Damage a launch file in place."""
    file.write_bytes(DAMAGES[kind](file.read_bytes()))


def _bit_flipped(data: bytes) -> bytes:
    return _bit_changed(data, len(data) // 2)


#: kinds of damage to a node of the state tree
DISK_DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "emptied": _emptied,
    "one bit flipped": _bit_flipped,
    "cut in half": _cut_in_half,
}


def value_file(home: Path, path: str) -> Path:
    """Where localfs keeps the value of a node."""
    folder = home / "state" / path.lstrip("/")
    owned = folder / "@owned"
    return owned if owned.exists() else folder / "@value"


def damage_node(home: Path, path: str, kind: str) -> bytes:
    """Damage a node in place, as a disk does: no process is told. Returns what was there."""
    file = value_file(home, path)
    whole = file.read_bytes()
    file.write_bytes(DISK_DAMAGES[kind](whole))
    return whole
