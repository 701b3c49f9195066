"""Plain tables, JSON, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import click


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns; those that hold only numbers stand to the right."""
    lines = [list(headers), *(list(row) for row in rows)]
    columns = list(zip(*lines, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    rightward = [_is_numeric(column[1:]) for column in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, rightward, strict=True)
        ).rstrip()
        for line in lines
    )


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; one that was closed before the start is None."""
    return stream is not None and stream.isatty()


def echo_json(value: Any) -> None:
    """Readable JSON of anything msgspec can write."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def count(number: float) -> str:
    """20400 → "20.4k"."""
    for scale, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale * 0.99995:
            return f"{number / scale:.1f}{suffix}"
    return f"{number:.0f}"


def size(number: float) -> str:
    """43200000 → "41.2 MB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TB"


def plural(number: int, noun: str) -> str:
    """1 container, 2 containers."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def elapsed(seconds: float) -> str:
    """7512 → "2h05m"."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"


def _is_numeric(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cell[:1].isdigit() or cell in ("", "-") for cell in cells)
