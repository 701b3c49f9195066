"""Apache Heron's names for log levels."""

from __future__ import annotations

import logging

_LEVELS = {
    None: logging.INFO,
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def log_level(name: str | None) -> int:
    """The level of a name; an unknown one is a ValueError that lists the known."""
    try:
        return _LEVELS[name]
    except KeyError:
        msg = f"unknown log level {name!r} (known: {', '.join(filter(None, _LEVELS))})"
        raise ValueError(msg) from None
