"""Durations and sizes as people write them: "250ms", "64KB"; and back."""

from __future__ import annotations

import re

#: seconds per unit, smallest first
DURATIONS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: bytes per unit, smallest first; powers of 1024, as memory is counted
SIZES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}

_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_duration(value: str | float) -> float:
    """Seconds from "250ms", "10s", "5m". A number is seconds already; its text is not, and a ValueError."""
    number, unit = _split(value)
    if isinstance(value, str) and not unit:
        msg = f"{value!r} has no unit: {number}s or {number}ms"
        raise ValueError(msg)
    if unit and unit not in DURATIONS:
        msg = f"{value!r} is not a duration"
        raise ValueError(msg)
    # division keeps "250ms" at exactly 0.25, where a product of floats would not
    if unit in ("us", "ms"):
        return number / (1_000_000 if unit == "us" else 1000)
    return number * DURATIONS[unit or "s"]


def parse_size(value: str | float) -> int:
    """Bytes from "64KB", "1MB", "1.5GB"; a plain number is bytes already. ValueError for anything else."""
    number, unit = _split(value)
    scale = SIZES.get((unit or "B").upper().replace("IB", "B"))
    if scale is None:
        msg = f"{value!r} is not a size"
        raise ValueError(msg)
    size = number * scale
    if size != int(size):
        msg = f"{value!r} is not a whole number of bytes"
        raise ValueError(msg)
    return int(size)


def format_duration(seconds: float) -> str:
    """The shortest exact form: 0.25 → "250ms", 300 → "5m"."""
    if seconds == 0:
        return "0s"
    for unit in reversed(DURATIONS):
        count = round(seconds / DURATIONS[unit], 9)
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{seconds!r}s" if "e" not in repr(seconds) else f"{seconds:f}s"


def format_size(size: int) -> str:
    """The shortest exact form: 65536 → "64KB"."""
    if size == 0:
        return "0B"
    unit = next(unit for unit in reversed(SIZES) if size % SIZES[unit] == 0)
    return f"{size // SIZES[unit]}{unit}"


def _split(value: str | float) -> tuple[float, str]:
    if isinstance(value, bool) or (not isinstance(value, str) and not 0 <= value < float("inf")):
        msg = f"{value!r} is not a number with a unit"
        raise ValueError(msg)
    if not isinstance(value, str):
        return value, ""
    match = _QUANTITY.fullmatch(value)
    if match is None:
        msg = f"{value!r} is not a number with a unit"
        raise ValueError(msg)
    number = match[1]
    return (float(number) if "." in number else int(number)), match[2]
