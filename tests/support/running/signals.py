"""Signals of commands that tests start."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """Tests in the background of a shell, or under nohup, have these ignored, and would pass that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
